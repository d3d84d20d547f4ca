"""Forks: a new pointer into the same tree, or a copy of a path in a tree of its own."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ....model import ForkPoint, NewSession, SessionRecord
from ....rules.codec import encode_json
from ..position import MAX_DEPTH
from ..rows import OVERLAY_FIRST, OVERLAY_LAST, NewOverlayRow, Row, SessionRow
from .lookup import get_pos

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncForkStatements(Protocol):
    """Statements about forks. A fork is a new, empty session; its source is locked."""

    async def fork_at_once(
        self, owner: str, new: NewSession, point: ForkPoint
    ) -> SessionRecord | None:
        """Make a whole fork that is not detached in few round trips, where a store can do that.

        It is the same as one that is planned. None, and nothing written, when it has to be: that
        is so for whatever is odd.
        """
        return None

    @abstractmethod
    async def copy_documents(self, fork: SessionRow, source: SessionRow) -> None:
        """Copy the documents of a session that do not expire."""

    @abstractmethod
    async def stand_on(self, fork: SessionRow, source: SessionRow, pos: int) -> int:
        """Let a fork see the path to a position, with the source's overlays that end on it.

        Return how many overlays these are. The fork's row is written after this.
        """

    @abstractmethod
    async def copy_path(self, fork: SessionRow, source: SessionRow, pos: int) -> CopiedPath:
        """Copy every position of a path into a segment, with its running sums made anew."""

    @abstractmethod
    async def overlays_on(self, source: SessionRow, pos: int) -> list[Row]:
        """Return the source's overlays that end on the path to a position, the oldest first."""


class CopiedPath(NamedTuple):
    """The copy of a path."""

    base: int
    """The start of the segment that it lies in."""
    live: int
    """How many of its messages are not deleted."""


async def fork_session(
    dialect: AsyncDialect, fork: SessionRow, source: SessionRow, point: ForkPoint
) -> None:
    """Make a new, empty session a fork of another one, which is locked."""
    at = point.message
    pos = source.tip if at is None else await get_pos(dialect, source, at)
    await dialect.fork.copy_documents(fork, source)
    if point.detach:
        fork, context = await _copy(dialect, fork, source, pos), None
    else:
        fork = await _attach(dialect, fork, source, pos)
        context = source.context if pos == source.tip else None
    if context is None:
        context = await dialect.sums.keep_context_at(fork, fork.tip)
    await dialect.sessions.place(fork._replace(context=context))


async def _attach(
    dialect: AsyncDialect, fork: SessionRow, source: SessionRow, pos: int
) -> SessionRow:
    overlays = await dialect.fork.stand_on(fork, source, pos)
    return fork._replace(
        tree=source.tree,
        tip=pos,
        fork=pos,
        overlays=overlays,
        edited=source.edited,
        has_data=source.has_data,
    )


async def _copy(
    dialect: AsyncDialect, fork: SessionRow, source: SessionRow, pos: int
) -> SessionRow:
    """Copy a path, and the overlays that are in force on it."""
    if not pos:
        return fork
    base, live = await dialect.fork.copy_path(fork, source, pos)
    overlays = await dialect.fork.overlays_on(source, pos) if source.overlays else []
    if overlays:
        await dialect.overlays.add_all(fork, [_moved(dialect, row, base) for row in overlays])
    tip = base | pos & MAX_DEPTH
    copied = fork._replace(tip=tip, messages=live, overlays=len(overlays))
    return copied._replace(has_data=source.has_data)


def _moved(dialect: AsyncDialect, row: Row, base: int) -> NewOverlayRow:
    found = dialect.overlays.overlay_of(row)
    return NewOverlayRow(
        id=found.id,
        first=base | row[OVERLAY_FIRST] & MAX_DEPTH,
        last=base | row[OVERLAY_LAST] & MAX_DEPTH,
        tokens=found.tokens,
        covered_tokens=found.covered_tokens,
        created_by=found.created_by,
        created_at=found.created_us,
        metadata=encode_json(found.metadata, "metadata"),
        summary=found.summary,
    )
