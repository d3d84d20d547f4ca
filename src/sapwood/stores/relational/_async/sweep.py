"""What a deletion leaves to be done: rows go in chunks, so that others are not held up.

A retired home's segments are nobody's. Each is cut after the deepest position that somebody still
stands on (a segment that branches off it, or a session's fork point), or deleted; then the one
that it stood on itself is looked at again.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ..position import whole_segment
from ..rows import SessionRow
from ..statements import SubjectStatements, T

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncSweepStatements(SubjectStatements[T]):
    """Statements about what is left to be done: a list of segments, by tree."""

    rows_at_once: int
    """How many messages go in one chunk."""

    @abstractmethod
    async def retire(self, session: SessionRow) -> None:
        """Take a session's messages out of use: its home number is never used again.

        Its segments and that of its fork point are listed; its overlays and the homes that it
        inherited are forgotten; the feed tells of it.
        """

    @abstractmethod
    async def lock_next(self) -> tuple[int, int | None] | None:
        """Return a tree in which something is left, locked, and the newest segment listed in it.

        None for the segment when others did all meanwhile.
        """

    @abstractmethod
    async def deepest_stand(self, tree: int, segment: int) -> int | None:
        """Return the deepest position stood on, the segment's start if none; None if it is used."""

    @abstractmethod
    async def cut(self, tree: int, kept: int, last: int) -> int:
        """Delete messages between positions, the deepest first; return how many there were."""

    @abstractmethod
    async def take_off(self, tree: int, segment: int, *, is_empty: bool) -> None:
        """Take a segment off the list; an empty one is deleted, and what it stood on is listed."""


class AsyncRelationalSweep:
    """Work that deletions leave to be done."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._statements = dialect.sweep

    async def sweep_chunk(self) -> bool:
        """Do a bounded piece of what is left to be done; return whether there may be more."""
        found = await self._statements.lock_next()
        if found is None:
            return False
        tree, segment = found
        if segment is not None:
            await self._cut(tree, segment)
        return True

    async def _cut(self, tree: int, segment: int) -> None:
        """Cut a piece off a segment; when that was all that is to go, it is done with."""
        statements = self._statements
        kept = await statements.deepest_stand(tree, segment)
        first, last = whole_segment(segment)
        if kept is None or await statements.cut(tree, kept, last) < statements.rows_at_once:
            await statements.take_off(tree, segment, is_empty=kept == first)
