"""Reading a path as it is shown: ranges on the primary key, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from sqlalchemy import bindparam, func, select

from ...model import Entry, History, Message, Read, Summary
from ...rules.missing import gone_over, refuse_missing
from ...rules.overlay import Cover, clip
from ...rules.tree import Place, Span, spans_up
from ..relational.position import MAX_DEPTH, bounds, unpack_place
from ..relational.rows import overlay_of
from .direct import number
from .lookup import get_pos, get_session, id_at, rows_at
from .rows import message_columns, message_of
from .sums import sum_of
from .tables import Tables
from .tx import Row, Tx
from .view import View

NO_LIMIT = 2**40


def read(tx: Tx, owner: str, session: str, query: Read) -> History:
    """Read a path as the contract says."""
    row = get_session(tx, owner, session)
    leaf = row.tip if query.leaf is None else get_pos(tx, row, query.leaf)
    view = View(tx, row)
    items: Iterable[Span | Cover] = view.visible(leaf)
    known_context = leaf == row.tip and row.context is not None
    if not known_context or not query.overlays:
        items = list(items)
    shown = items if query.overlays else spans_up(unpack_place(leaf), tx.lineage)
    window = _Window(view, query)
    window.fill(shown)
    context = row.context if known_context else sum_of(view, items)
    assert context is not None
    return History(
        entries=window.entries,
        leaf=id_at(tx, row.tree, leaf),
        tip=id_at(tx, row.tree, row.tip),
        context_tokens=context,
        more=window.more,
        bytes=window.bytes,
        snapshot=str(tx.value(latest_edit, tree=row.tree) or 0),
    )


class _Window:
    """The entries of a read, taken from one end until a limit is met."""

    def __init__(self, view: View, query: Read) -> None:
        self._view = view
        self._tx = view.tx
        self._tree = view.session.tree
        self._query = query
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
        rest = NO_LIMIT if limit is None else limit - len(self.entries) + 1
        before = len(self.entries)
        if self._query.max_bytes is None:
            rows = self._rows(*bounds(clipped), rest)
            self.more = limit is not None and len(rows) == rest
            self._take_all(rows[:-1] if self.more else rows)
        else:
            self._take_within_bytes(clipped, rest)
        self._refuse_missing(clipped, self.entries[before:])

    def _take_within_bytes(self, span: Span, rest: int) -> None:
        for row in self._rows_in_pages(*bounds(span), rest):
            if not self._has_room(len(row[-1])):
                return
            self.entries.append(message_of(self._tx, row))

    def _refuse_missing(self, span: Span, taken: Sequence[Entry]) -> None:
        """See that no row was missing: that of a deleted message stays."""
        if self.more:
            if not taken:
                return
            stopped_at = Place(span.segment, cast("Message", taken[-1]).depth)
            [span] = gone_over([span], stopped_at, backwards=self._query.backwards)
        if len(taken) == span.last - span.first + 1:
            return
        low, high = bounds(span)
        rows = self._tx.rows(_positions, tree=self._tree, low=low, high=high)
        there = ((pos & MAX_DEPTH, pos & MAX_DEPTH) for (pos,) in rows)
        refuse_missing(there, span.first, span.last, self._view.session.id)

    def _rows(self, first: int, last: int, most: int) -> Any:
        statement = _backwards if self._query.backwards else _forwards
        return self._tx.rows(statement, tree=self._tree, low=first, high=last, most=most)

    def _take_all(self, rows: Any) -> None:
        tx = self._tx
        self.entries += [message_of(tx, row) for row in rows]
        self.bytes += sum(len(row[-1]) for row in rows)

    def _rows_in_pages(self, first: int, last: int, rest: int) -> Iterator[Row]:
        """Give rows so that a byte limit does not read a whole long span."""
        page = 8
        while rest:
            page = min(2 * page, 256)
            size = min(page, rest)
            rows = self._rows(first, last, size)
            yield from rows
            if len(rows) < size:
                return
            rest -= size
            if self._query.backwards:
                last = rows[-1][0] - 1
            else:
                first = rows[-1][0] + 1

    def _take_cover(self, cover: Cover) -> None:
        after, before = self._query.after, self._query.before
        if cover.last.depth <= after or (before is not None and cover.first.depth >= before):
            return
        pinned, pinned_bytes = self._pinned(cover)
        summary = Summary(overlay=overlay_of(self._view.overlay(cover)), pinned=pinned)
        if self._has_room(len(summary.text.encode()) + pinned_bytes):
            self.entries.append(summary)

    def _pinned(self, cover: Cover) -> tuple[list[Message], int]:
        positions = self._view.pinned_under(cover)
        found = rows_at(self._tx, self._tree, positions)
        rows = [found[pos] for pos in positions]
        return [message_of(self._tx, row) for row in rows], sum(len(row[-1]) for row in rows)

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


def latest_edit(t: Tables) -> Any:
    """Give the number of the newest edit of a tree, which dates a snapshot."""
    return select(newest_edit(t)).where(t.edit.c.tree == bindparam("tree"))


def newest_edit(t: Tables) -> Any:
    """Give the largest number of edits, so that no database looks for it through all trees'."""
    return func.max(t.edit.c.seq + number(0))


def _between(t: Tables) -> Any:
    m = t.message
    return select(*message_columns(m)).where(
        m.c.tree == bindparam("tree"),
        m.c.pos.between(bindparam("low"), bindparam("high")),
        m.c.body.is_not(None),
    )


def _positions(t: Tables) -> Any:
    m = t.message.c
    between = m.pos.between(bindparam("low"), bindparam("high"))
    return select(m.pos).where(m.tree == bindparam("tree"), between).order_by(m.pos)


def _forwards(t: Tables) -> Any:
    return _between(t).order_by(t.message.c.pos).limit(bindparam("most"))


def _backwards(t: Tables) -> Any:
    return _between(t).order_by(t.message.c.pos.desc()).limit(bindparam("most"))
