"""Work on overlays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....model import EntryRef, Fence, NewOverlay, Overlay
from ....rules.codec import encode_json
from ....rules.tree import Cover, Place, Span
from ...base.refusals import (
    bad_snapshot,
    changed_since,
    message_deleted,
    no_message,
    no_overlay,
    not_shown,
    overlay_exists,
    range_order,
)
from ..position import bounds, pack_place, place_of
from ..rows import (
    OVERLAY_FIRST,
    OVERLAY_LAST,
    OVERLAY_NUMBER,
    OVERLAY_TOKENS,
    NewOverlayRow,
    Row,
    SessionRow,
    overlay_of,
)
from ..statements import SubjectStatements, T
from .extras import get_open_session
from .lookup import find_seen, get_pos, get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncOverlayStatements(SubjectStatements[T]):
    """Statements about overlays.

    A row begins with number, id, first, last, tokens, covered_tokens, created_by, created_at,
    metadata, summary.
    """

    @abstractmethod
    async def find(self, session: SessionRow, id: str) -> Row | None:
        """Return an overlay that is in force for a session."""

    @abstractmethod
    async def in_force(self, session: SessionRow) -> list[Row]:
        """Return a session's overlays, the oldest first."""

    @abstractmethod
    async def is_taken(self, session: SessionRow, id: str) -> bool:
        """Whether there is an overlay of this id in the session's tree."""

    @abstractmethod
    async def add(self, session: SessionRow, new: NewOverlayRow) -> Row:
        """Store an overlay, and put it in force for a session."""

    async def add_all(self, session: SessionRow, overlays: Iterable[NewOverlayRow]) -> None:
        """Store overlays, the oldest first, and put them in force for a session."""
        for new in overlays:
            await self.add(session, new)

    @abstractmethod
    async def rewrite(self, session: SessionRow, found: Row, summary: str, metadata: bytes) -> None:
        """Replace what an overlay says; what is searched follows."""

    @abstractmethod
    async def remove(self, session: SessionRow, found: Row) -> None:
        """Take an overlay out of force; it goes when no session has it any more."""

    @abstractmethod
    async def tokens_between(self, session: SessionRow, first: int, last: int) -> int:
        """Return the tokens of the messages between two positions of a segment."""

    @abstractmethod
    async def is_changed(
        self, session: SessionRow, first: Place, last: Place, snapshot: int
    ) -> bool:
        """Whether something on the path between two places was changed after a snapshot."""

    def overlay_of(self, row: Row) -> Overlay:
        """Return the overlay of a row; a damaged one is `StoreCorruptError`."""
        return overlay_of(row)

    def removed(self, row: Row) -> Overlay:
        """Return the overlay of a row that is gone by now, as far as it can be read."""
        return overlay_of(row)


class AsyncRelationalOverlays:
    """Work on overlays."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._dialect = dialect

    async def add(
        self,
        owner: str,
        session: str,
        new: NewOverlay,
        id: str,
        tokens: int,
        fences: Sequence[Fence],
    ) -> Overlay:
        """Put an overlay over a range."""
        row = await get_open_session(self._dialect, owner, session, fences)
        leaf = row.tip if new.leaf is None else await get_pos(self._dialect, row, new.leaf)
        begin, end = await self._end(row, new.first), await self._end(row, new.last)
        if begin.first.depth > end.last.depth:
            await self._refuse_order(row, leaf, begin, end)
        covered = await self._covered_tokens(row, leaf, begin, end)
        await refuse_if_changed(self._dialect, row, new.snapshot, begin.first, end.last)
        if await self._dialect.overlays.is_taken(row, id):
            raise overlay_exists(id)
        made = NewOverlayRow(
            id=id,
            first=pack_place(begin.first),
            last=pack_place(end.last),
            tokens=tokens,
            covered_tokens=covered,
            created_by=row.id,
            created_at=await self._dialect.now(),
            metadata=encode_json(new.metadata, "metadata"),
            summary=new.summary,
        )
        stored = await self._dialect.overlays.add(row, made)
        await self._dialect.sums.renew_context(row._replace(overlays=row.overlays + 1))
        return self._dialect.overlays.overlay_of(stored)

    async def in_force(self, owner: str, session: str) -> list[Overlay]:
        """List a session's overlays."""
        row = await get_session(self._dialect, owner, session)
        rows = await self._dialect.overlays.in_force(row)
        return [self._dialect.overlays.overlay_of(found) for found in rows]

    async def undo(
        self, owner: str, session: str, overlay: str, fences: Sequence[Fence]
    ) -> Overlay:
        """Take an overlay out of force, also one that is damaged: what it covers is not."""
        row = await get_open_session(self._dialect, owner, session, fences)
        found = await self._find(row, overlay)
        await self._dialect.overlays.remove(row, found)
        await self._dialect.sums.renew_context(row._replace(overlays=row.overlays - 1))
        return self._dialect.overlays.removed(found)

    async def _find(self, row: SessionRow, id: str) -> Row:
        found = await self._dialect.overlays.find(row, id)
        if found is None:
            raise no_overlay(row.id, id)
        return found

    async def _refuse_order(
        self, row: SessionRow, leaf: int, first: _CoveredEnd, last: _CoveredEnd
    ) -> None:
        """Refuse ends in the wrong order; what is not shown has none, and is refused as such."""
        items = list(await self._dialect.sums.visible(row, leaf))
        if all(any(end.is_in(item) for item in items) for end in (first, last)):
            raise range_order()

    async def _end(self, row: SessionRow, ref: EntryRef) -> _CoveredEnd:
        """Return an entry that a range may begin or end with."""
        if ref.kind == "overlay":
            found = await self._find(row, ref.id)
            ends = place_of(found[OVERLAY_FIRST]), place_of(found[OVERLAY_LAST])
            return _CoveredEnd(found[OVERLAY_NUMBER], *ends)
        seen = await find_seen(self._dialect, row, ref.id)
        if seen is None:
            raise no_message(row.id, ref.id)
        if not seen.is_live:
            raise message_deleted(ref.id)
        return _CoveredEnd(None, place_of(seen.pos), place_of(seen.pos))

    async def _covered_tokens(
        self, row: SessionRow, leaf: int, first: _CoveredEnd, last: _CoveredEnd
    ) -> int:
        """Return the sum of what is visible in a range whose ends are visible entries, or raise."""
        total, is_inside = 0, False
        for item in await self._dialect.sums.visible(row, leaf):
            if not is_inside and not last.is_in(item):
                continue
            if not is_inside and isinstance(item, Span):
                item = item._replace(last=last.last.depth)
            is_inside = True
            total += await self._tokens_of(row, item, first)
            if first.is_in(item):
                return total
            if _top(item) <= first.first.depth:
                break
        raise not_shown()

    async def _tokens_of(self, row: SessionRow, item: Span | Cover, first: _CoveredEnd) -> int:
        if isinstance(item, Cover):
            return int(item.row[OVERLAY_TOKENS])
        if first.is_in(item):
            item = item._replace(first=first.first.depth)
        return await self._dialect.overlays.tokens_between(row, *bounds(item))


TOP = Place(0, 1)
"""Stands for the first place of any path."""


async def refuse_if_changed(
    dialect: AsyncDialect,
    row: SessionRow,
    snapshot: str | None,
    first: Place,
    last: Place | None,
) -> None:
    """Refuse what was made from a snapshot when a message of its range changed since."""
    if snapshot is None:
        return
    if not (snapshot.isascii() and snapshot.isdigit() and len(snapshot) <= 18):
        raise bad_snapshot(snapshot)
    if last and await dialect.overlays.is_changed(row, first, last, int(snapshot)):
        raise changed_since()


class _CoveredEnd(NamedTuple):
    """An entry at an end of a range: a message, or all that an overlay covers."""

    overlay: int | None
    first: Place
    last: Place

    def is_in(self, item: Span | Cover) -> bool:
        """Whether a visible item is, or contains, this entry."""
        if isinstance(item, Cover):
            return item.number == self.overlay
        segment, depth = self.first
        is_inside = item.segment == segment and item.first <= depth <= item.last
        return self.overlay is None and is_inside


def _top(item: Span | Cover) -> int:
    return item.first.depth if isinstance(item, Cover) else item.first
