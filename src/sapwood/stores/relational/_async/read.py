"""Reading a path as it is shown: ranges on the primary key, in one snapshot."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....errors import StoreCorruptError
from ....model import Entry, History, Message, Read, Summary
from ....rules.tree import Cover, Place, Span, clip, gone_over, refuse_missing
from ..bodiless import bare
from ..position import public
from ..rows import BODY, HomeNames, SessionRow
from .data import data_at, entries_with_data_at
from .documents import find_pins
from .lookup import get_pos, get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect

_FIRST_PAGE = 16
_MOST_IN_A_PAGE = 256


async def read_path(dialect: AsyncDialect, owner: str, session: str, query: Read) -> History:
    """Read a path as the contract says."""
    row = await get_session(dialect, owner, session)
    leaf = row.tip if query.leaf is None else await get_pos(dialect, row, query.leaf)
    window = _ReadWindow(dialect, row, query)
    shown = row if query.overlays else row._replace(overlays=0)
    await window.fill(await dialect.sums.visible(shown, leaf))
    context = row.context if leaf == row.tip else None
    held = await data_at(dialect, row, leaf)
    return History(
        entries=await entries_with_data_at(dialect, row, window.entries),
        leaf=await dialect.lookup.id_at(row, leaf),
        tip=await dialect.lookup.id_at(row, row.tip),
        context_tokens=await dialect.sums.context_at(row, leaf) if context is None else context,
        more=window.more,
        bytes=window.bytes,
        snapshot=str(await dialect.messages.snapshot(row)),
        data_at=public(held) if held else None,
    )


class _ReadWindow:
    """The entries of a read, taken from one end until a limit is met."""

    def __init__(self, dialect: AsyncDialect, session: SessionRow, query: Read) -> None:
        self._dialect = dialect
        self._session = session
        self._query = query
        self._names: HomeNames = {session.home: session.id}
        self._pins: list[int] | None = None
        self._taken = 0
        self.entries: list[Entry] = []
        self.bytes = 0
        self.more = False

    async def fill(self, shown: Iterable[Span | Cover]) -> None:
        """Take entries; what is shown comes from the leaf upwards."""
        backwards = self._query.backwards
        spans: list[Span] = []
        for item in shown if backwards else reversed(list(shown)):
            if isinstance(item, Span):
                clipped = clip(item, self._query.after, self._query.before)
                spans += [clipped] if clipped else []
                if len(spans) < self._dialect.messages.spans_at_once:
                    continue
            await self._take_spans(spans)
            spans = []
            if isinstance(item, Cover) and not self.more:
                await self._take_cover(item)
            if self.more:
                break
        await self._take_spans(spans)
        if backwards:
            self.entries.reverse()

    async def _take_spans(self, spans: list[Span]) -> None:
        if self.more or not spans:
            return
        before = len(self.entries)
        limit = self._query.limit
        # One more is asked for, to see whether there is more.
        room = None if limit is None else limit - before + 1
        if self._query.max_bytes is None:
            await self._read(spans, room)
        else:
            await self._read_in_pages(spans, sys.maxsize if room is None else room)
        await self._refuse_missing(spans, self.entries[before:])

    async def _read_in_pages(self, spans: list[Span], room: int) -> None:
        """Read so that a limit in bytes does not read a whole long path."""
        page = _FIRST_PAGE
        while spans:
            asked = min(page, room)
            messages = await self._read(spans, asked)
            if self.more or len(messages) < asked:
                return
            room -= asked
            spans = _rest_of(spans, _place_of(messages[-1]), self._query.backwards)
            page = min(2 * page, _MOST_IN_A_PAGE)

    async def _read(self, spans: list[Span], most: int | None) -> list[Message]:
        """Take what fits of the first messages of spans, which are given in the read's order."""
        is_limited = most is not None or self._query.max_bytes is not None
        messages, size = await self._dialect.messages.read_spans(
            self._session,
            spans,
            backwards=self._query.backwards,
            most=most,
            has_room=self._has_room if is_limited else None,
            names=self._names,
            bodies=self._query.bodies,
        )
        self.bytes += 0 if is_limited else size
        self.entries += messages
        return messages

    async def _refuse_missing(self, spans: list[Span], taken: list[Entry]) -> None:
        """See that the rows were those of the spans, each once: a deleted message's stays."""
        messages = [entry for entry in taken if isinstance(entry, Message)]
        if self.more:
            if not messages:
                return
            stopped_at = _place_of(messages[-1])
            spans = gone_over(spans, stopped_at, backwards=self._query.backwards)
        depths = [message.depth for message in messages]
        if self._query.backwards:
            depths.reverse()
        first, last = min(it.first for it in spans), max(it.last for it in spans)
        if depths == list(range(first, last + 1)):
            return
        there = await self._dialect.messages.depths_in(self._session, spans)
        refuse_missing(((depth, depth) for depth, _ in there), first, last, self._session.id)
        live = [depth for depth, is_live in there if is_live]
        if live != depths or len(there) != last - first + 1:
            raise StoreCorruptError(
                f"the messages of session {self._session.id!r} are not in order: "
                "repair the database"
            )

    async def _take_cover(self, cover: Cover) -> None:
        after, before = self._query.after, self._query.before
        if cover.last.depth <= after or (before is not None and cover.first.depth >= before):
            return
        pinned, pinned_bytes = await self._pinned(cover)
        overlay = self._dialect.overlays.overlay_of(cover.row)
        summary = Summary(overlay=overlay, pinned=pinned)
        if self._has_room(len(summary.text.encode()) + pinned_bytes):
            self.entries.append(summary)

    async def _pinned(self, cover: Cover) -> tuple[list[Message], int]:
        if self._pins is None:
            on = self._dialect
            self._pins = await find_pins(on.documents, on.lookup, on.now, self._session)
        if not self._pins:
            return [], 0
        under = await self._dialect.sums.pins_under(self._session, self._pins, cover)
        found = await self._dialect.messages.rows_at(self._session, under)
        rows = [found[pos] for pos in under]
        messages = await self._dialect.messages.messages_of(self._session, rows, self._names)
        if not self._query.bodies:
            messages = [bare(it) for it in messages]
        return messages, sum(len(row[BODY]) for row in rows)

    def _has_room(self, size: int) -> bool:
        """Count an entry in, or note that it was cut off; the first always fits."""
        limit, most = self._query.limit, self._query.max_bytes
        too_many = limit is not None and self._taken >= limit
        too_large = most is not None and self._taken > 0 and self.bytes + size > most
        if too_many or too_large:
            self.more = True
            return False
        self.bytes += size
        self._taken += 1
        return True


def _place_of(message: Message) -> Place:
    return Place(int(message.segment), message.depth)


def _rest_of(spans: list[Span], done: Place, backwards: bool) -> list[Span]:
    """Return what is left of spans after a place of one of them was read."""
    index = next(
        n
        for n, it in enumerate(spans)
        if it.segment == done.segment and it.first <= done.depth <= it.last
    )
    span, rest = spans[index], spans[index + 1 :]
    left = {"last": done.depth - 1} if backwards else {"first": done.depth + 1}
    cut = span._replace(**left)
    return [cut, *rest] if cut.first <= cut.last else rest
