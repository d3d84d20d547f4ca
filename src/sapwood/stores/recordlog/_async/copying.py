"""Filling a log that nobody knows of yet."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..fold import fold, turn_page
from ..record import Record
from ..rows import Row, first_digest
from ..state import Laid, State, encode_state
from ..stepping import stored_record
from ..stored import record_key, value_key
from ..work import Append, Erase, Page, Said, Spot, Work
from .beside import settle_beside
from .desk import AsyncDesk
from .reading import covers_of

COPIED_AT_ONCE = 256
COPIED_BYTES = 1024 * 1024


async def begin(desk: AsyncDesk, born: State) -> None:
    """Write the first record of a log, with the state that it begins with."""
    record = Record(desk.new_id(), await desk.stamp(), Page(), encode_state(born))
    await desk.log.create(stored_record(born, Page(), record))


async def give_up(desk: AsyncDesk, born: State) -> None:
    """Empty a log that nobody will know of; what was copied into it is left nowhere."""
    await desk.log.blank([record_key(born.tree, born.log, n) for n in range(born.n + 1)])
    copies = [value_key(born.tree, born.log, key, n) for key, n in born.copies]
    if copies:
        await desk.log.delete(copies)


class AsyncCopying:
    """A detached fork on its way: its path is one segment, in which every depth stays."""

    def __init__(self, desk: AsyncDesk, born: State) -> None:
        self._desk = desk
        self._born = born
        self._state = born
        self._bases: list[int] = [0]

    async def give_up(self) -> None:
        """Leave nothing of what was copied."""
        await give_up(self._desk, self._state)

    async def begin(self) -> None:
        """Write the first record."""
        await begin(self._desk, self._born)

    async def take(self, rows: Sequence[Row]) -> None:
        """Copy messages as they are, those that were erased too."""
        group: list[Row] = []
        size = 0
        for row in rows:
            size += len(row.body or b"")
            if group and size > COPIED_BYTES:
                await self._append(group)
                group, size = [], len(row.body or b"")
            group.append(row)
        await self._append(group)

    async def _append(self, rows: Sequence[Row]) -> None:
        said = [_copied(row) for row in rows]
        first, base = len(self._bases), self._bases[-1]
        at_us, is_new = self._born.created_us, not self._state.segments
        await self._record(Append(at_us, 1, first, is_new, None, base, said))
        for it in said:
            self._bases.append(self._bases[-1] + it.tokens)
        n = self._state.n
        spots = [
            Spot(("", 1, depth), n, 0, it.id, told=False)
            for depth, it in enumerate(said, first)
            if it.body is None
        ]
        if spots:
            await self._record(Erase(at_us, spots))

    async def cover(self, source: State, laid: Sequence[Laid]) -> None:
        """Copy overlays."""
        for it, work in zip(laid, await covers_of(self._desk, source, laid), strict=True):
            first, last = it.first.depth, it.last.depth
            copy = replace(
                work,
                first=("", 1, first),
                last=("", 1, last),
                above=self._bases[first - 1],
                base=self._bases[last],
                stamp=await self._desk.stamp(),
            )
            await self._record(copy)

    async def _record(self, work: Work) -> None:
        self._state = fold(self._state, work)
        record = Record(self._desk.new_id(), await self._desk.stamp(), work)
        await self._desk.log.create(stored_record(self._state, work, record))

    async def end(self) -> State:
        """Write a page, so that the log is read from there."""
        await settle_beside(self._desk, replace(self._state, litter=[]))
        work = Page(self._born.active_us)
        state = turn_page(self._state, fold(self._state, work))
        data = encode_state(state)
        record = Record(self._desk.new_id(), await self._desk.stamp(), work, data)
        await self._desk.log.create(stored_record(state, work, record))
        return replace(state, page_bytes=len(data))


def _copied(row: Row) -> Said:
    if row.body is None:
        return Said(row.id, None, 0, row.created_us, None, version=0)
    return Said(
        row.id,
        row.role,
        row.tokens,
        row.created_us,
        row.body,
        version=row.version,
        digest=first_digest(row) if row.version > 1 else None,
    )
