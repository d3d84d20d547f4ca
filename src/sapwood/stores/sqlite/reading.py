"""Reading a path as it is shown: ranges on the primary key, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from ...errors import StoreCorruptError
from ...model import Entry, History, Message, Read, Summary
from ...rules.missing import refuse_missing
from ...rules.overlay import Cover, clip
from ...rules.tree import Span, spans_up
from ..relational.position import MAX_DEPTH, bounds, unpack_place
from .connection import Connection
from .feed import latest_seq
from .lookup import get_pos, get_session, id_at
from .rows import MESSAGE_COLUMNS, Names, message_of, overlay_of, refuse_if_changed
from .sums import sum_of
from .view import View

_SELECT = (
    f"SELECT {MESSAGE_COLUMNS} FROM message m"
    " WHERE m.pos BETWEEN ? AND ? AND m.body IS NOT NULL ORDER BY m.pos"
)
_LIVE_OR_DELETED = "SELECT pos, body IS NOT NULL FROM message WHERE pos BETWEEN ? AND ?"
_DELETED = f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE m.pos BETWEEN ? AND ? AND m.body IS NULL"
_FORWARDS = f"{_SELECT} LIMIT ?"
_BACKWARDS = f"{_SELECT} DESC LIMIT ?"
_NO_LIMIT = -1


def read(tx: Connection, owner: str, session: str, query: Read) -> History:
    """Read a path as the contract says."""
    row = get_session(tx, owner, session)
    leaf = row.tip if query.leaf is None else get_pos(tx, row, query.leaf)
    view = View(tx, row)
    items: Iterable[Span | Cover] = view.visible(leaf)
    known_context = leaf == row.tip and row.context is not None
    if not known_context or not query.overlays:
        items = list(items)
    shown = items if query.overlays else spans_up(unpack_place(leaf), view.lineage)
    window = _Window(view, query)
    window.fill(shown)
    context = row.context if known_context else sum_of(view, items)
    assert context is not None
    return History(
        entries=window.entries,
        leaf=id_at(tx, leaf),
        tip=id_at(tx, row.tip),
        context_tokens=context,
        more=window.more,
        bytes=window.bytes,
        snapshot=str(latest_seq(tx)),
    )


class _Window:
    """The entries of a read, taken from one end until a limit is met."""

    def __init__(self, view: View, query: Read) -> None:
        self._view = view
        self._tx = view.tx
        self._query = query
        self._names: Names = {view.session.home: view.session.id}
        self.entries: list[Entry] = []
        self.bytes = 0
        self.more = False

    def fill(self, shown: Iterable[Span | Cover]) -> None:
        """Take entries; what is shown comes from the leaf upwards."""
        backwards = self._query.backwards
        ordered = shown if backwards else reversed(list(shown))
        for item in ordered:
            if isinstance(item, Cover):
                self._take_cover(item)
            else:
                self._take_span(item)
            if self.more:
                break
        if backwards:
            self.entries.reverse()

    def _take_span(self, span: Span) -> None:
        clipped = clip(span, self._query.after, self._query.before)
        if clipped is None:
            return
        limit = self._query.limit
        rest = _NO_LIMIT if limit is None else limit - len(self.entries) + 1
        sql = _BACKWARDS if self._query.backwards else _FORWARDS
        args = (*bounds(clipped), rest)
        before = len(self.entries)
        if self._query.max_bytes is None:
            self._take_rows(sql, args)
        else:
            self._take_rows_within_bytes(sql, args)
        self._refuse_missing(clipped, self.entries[before:])

    def _refuse_missing(self, span: Span, taken: list[Entry]) -> None:
        """See that the rows were those of the span, each once: a deleted message's stays."""
        depths = [cast(Message, entry).depth for entry in taken]
        if self._query.backwards:
            depths.reverse()
        first, last = span.first, span.last
        if self.more and not depths:
            return
        if self.more:
            first, last = (depths[0], last) if self._query.backwards else (first, depths[-1])
        if depths != list(range(first, last + 1)):
            self._refuse_unless_deleted(Span(span.segment, first, last), depths)

    def _refuse_unless_deleted(self, span: Span, depths: list[int]) -> None:
        low, high = bounds(span)
        found = self._tx.rows(_LIVE_OR_DELETED, (low, high))
        rows = [(pos & MAX_DEPTH, is_live) for pos, is_live in found]
        there = ((depth, depth) for depth, _ in sorted(rows))
        refuse_missing(there, span.first, span.last, self._view.session.id)
        live = [depth for depth, is_live in rows if is_live]
        if len(rows) != high - low + 1 or live != depths:
            raise StoreCorruptError(
                f"the rows of segment {span.segment} are not in order: repair the database"
            )
        for row in self._tx.rows(_DELETED, (low, high)):
            refuse_if_changed(row)

    def _take_rows_within_bytes(self, sql: str, args: tuple[int, int, int]) -> None:
        for row in self._rows_in_pages(sql, args):
            if not self._has_room(len(row[-1])):
                return
            self.entries.append(message_of(self._tx, row, self._names))

    def _take_rows(self, sql: str, args: tuple[int, int, int]) -> None:
        """Take rows up to the limit; one more was asked for, to see whether there is more."""
        tx, names, limit, entries = self._tx, self._names, self._query.limit, self.entries
        size = 0
        with tx.stream(sql, args) as rows:
            for row in rows:
                if len(entries) == limit:
                    self.more = True
                    break
                entries.append(message_of(tx, row, names))
                size += len(row[-1])
        self.bytes += size

    def _rows_in_pages(self, sql: str, args: tuple[int, int, int]) -> Iterator[tuple[Any, ...]]:
        """Give rows so that a byte limit does not read a whole long span."""
        first, last, rest = args
        page = 8
        while rest:
            page = min(2 * page, 256)
            size = page if rest < 0 else min(page, rest)
            rows = self._tx.rows(sql, (first, last, size))
            yield from rows
            if len(rows) < size:
                return
            rest -= size if rest > 0 else 0
            if self._query.backwards:
                last = rows[-1][1] - 1
            else:
                first = rows[-1][1] + 1

    def _take_cover(self, cover: Cover) -> None:
        after, before = self._query.after, self._query.before
        if cover.last.depth <= after or (before is not None and cover.first.depth >= before):
            return
        pinned, pinned_bytes = self._pinned(cover)
        summary = Summary(overlay=overlay_of(self._view.overlay(cover)), pinned=pinned)
        if self._has_room(len(summary.text.encode()) + pinned_bytes):
            self.entries.append(summary)

    def _pinned(self, cover: Cover) -> tuple[list[Message], int]:
        rows = [
            self._tx.row(f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE pos = ?", (pos,))
            for pos in self._view.pinned_under(cover)
        ]
        messages = [message_of(self._tx, row, self._names) for row in rows]
        return messages, sum(len(row[-1]) for row in rows)

    def _has_room(self, size: int) -> bool:
        """Count an entry in, or note that it was cut off; the first always fits."""
        limit, most = self._query.limit, self._query.max_bytes
        too_many = limit is not None and len(self.entries) >= limit
        too_large = most is not None and bool(self.entries) and self.bytes + size > most
        if too_many or too_large:
            self.more = True
            return False
        self.bytes += size
        return True
