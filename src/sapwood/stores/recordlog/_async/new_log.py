"""Filling a log that nobody knows of yet."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..fold import fold, turn_page
from ..log_documents import record_key, value_key
from ..record import Record
from ..rows import LogRow, first_digest
from ..state import LaidOverlay, LogState, encode_state
from ..transitions import stored_record
from ..work import Append, AppendedMessage, Erase, ErasedPlace, LogWork, WritePage
from .history import covers_of
from .leftovers import finish_leftovers
from .logs import AsyncLogs

COPIED_AT_ONCE = 256
COPIED_BYTES = 1024 * 1024


async def begin(logs: AsyncLogs, born: LogState) -> None:
    """Write the first record of a log, with the state that it begins with."""
    record = Record(logs.new_id(), await logs.stamp(), WritePage(), encode_state(born))
    await logs.driver.create(stored_record(born, WritePage(), record))


async def give_up(logs: AsyncLogs, born: LogState) -> None:
    """Empty a log that nobody will know of; what was copied into it is left nowhere."""
    await logs.driver.blank([record_key(born.tree, born.log, n) for n in range(born.n + 1)])
    copies = [value_key(born.tree, born.log, key, n) for key, n in born.copies]
    if copies:
        await logs.driver.delete(copies)


class AsyncNewLog:
    """A detached fork on its way: its path is one segment, in which every depth stays."""

    def __init__(self, logs: AsyncLogs, born: LogState) -> None:
        self._logs = logs
        self._born = born
        self._state = born
        self._bases: list[int] = [0]

    async def give_up(self) -> None:
        """Leave nothing of what was copied."""
        await give_up(self._logs, self._state)

    async def begin(self) -> None:
        """Write the first record."""
        await begin(self._logs, self._born)

    async def take(self, rows: Sequence[LogRow]) -> None:
        """Copy messages as they are, those that were erased too."""
        group: list[LogRow] = []
        size = 0
        for row in rows:
            size += len(row.body or b"")
            if group and size > COPIED_BYTES:
                await self._append(group)
                group, size = [], len(row.body or b"")
            group.append(row)
        await self._append(group)

    async def _append(self, rows: Sequence[LogRow]) -> None:
        said = [_copied(row) for row in rows]
        first, base = len(self._bases), self._bases[-1]
        at_us, is_new = self._born.created_us, not self._state.segments
        await self._record(Append(at_us, 1, first, is_new, None, base, said))
        for it in said:
            self._bases.append(self._bases[-1] + it.tokens)
        n = self._state.n
        spots = [
            ErasedPlace(("", 1, depth), n, 0, it.id, told=False)
            for depth, it in enumerate(said, first)
            if it.body is None
        ]
        if spots:
            await self._record(Erase(at_us, spots))

    async def cover(self, source: LogState, laid: Sequence[LaidOverlay]) -> None:
        """Copy overlays."""
        for it, work in zip(laid, await covers_of(self._logs, source, laid), strict=True):
            first, last = it.first.depth, it.last.depth
            copy = replace(
                work,
                first=("", 1, first),
                last=("", 1, last),
                above=self._bases[first - 1],
                base=self._bases[last],
                stamp=await self._logs.stamp(),
            )
            await self._record(copy)

    async def _record(self, work: LogWork) -> None:
        self._state = fold(self._state, work)
        record = Record(self._logs.new_id(), await self._logs.stamp(), work)
        await self._logs.driver.create(stored_record(self._state, work, record))

    async def end(self) -> LogState:
        """Write a page, so that the log is read from there."""
        await finish_leftovers(self._logs, replace(self._state, litter=[]))
        work = WritePage(self._born.active_us)
        state = turn_page(self._state, fold(self._state, work))
        data = encode_state(state)
        record = Record(self._logs.new_id(), await self._logs.stamp(), work, data)
        await self._logs.driver.create(stored_record(state, work, record))
        return replace(state, page_bytes=len(data))


def _copied(row: LogRow) -> AppendedMessage:
    if row.body is None:
        return AppendedMessage(row.id, None, 0, row.created_us, None, version=0)
    return AppendedMessage(
        row.id,
        row.role,
        row.tokens,
        row.created_us,
        row.body,
        version=row.version,
        digest=first_digest(row) if row.version > 1 else None,
    )
