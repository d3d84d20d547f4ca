"""Statements about data at positions: a row for each version, by its position."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, literal, select, update

from ...errors import StoreCorruptError
from ...rules.tree import Span, spans_up
from ..relational._sync.data import DataStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH, bounds, public, unpack_place, whole_segment
from ..relational.rows import MARK, SessionRow
from ..relational.walk import parent_pos
from .direct import number
from .lookup import in_parts, is_seen
from .tables import Tables
from .tx import ResultRow, Tx, select_by, update_by

CHAIN_AT_ONCE = 500
"""How many versions one statement goes back over: a server follows a chain only so far."""

_HOME_AT = select_by("message", "tree", "pos", of=["home"])
_INHERITED = select_by("segment", "number", of=["data_at"])
_VALUE = select_by("data", "tree", "pos", of=["pos", "value"])
_SEGMENTS_OF = select_by("segment", "tree", "home", of=["number"])
_PUT_VALUE = update_by("data", "tree", "pos")


def data_at(tx: Tx, tree: int, pos: int) -> int:
    """Return where the data stands that holds at a position; 0 for none."""
    if not pos:
        return 0
    segment = pos >> DEPTH_BITS
    nearest = tx.value(_nearest, tree=tree, low=segment << DEPTH_BITS, high=pos)
    return int(nearest or tx.value(_INHERITED, number=segment) or 0)


def data_after(tx: Tx, session: SessionRow, pos: int) -> int:
    """Return where the data stands that holds at a position of a session; 0 for none."""
    return data_at(tx, session.tree, pos) if session.has_data else 0


class SqlDataStatements(DataStatements[Tx]):
    """Statements about data at positions."""

    def is_seen(self, session: SessionRow, pos: int) -> bool:
        home = self._tx.value(_HOME_AT, tree=session.tree, pos=pos)
        return home is not None and is_seen(self._tx, session, pos, home)

    def at(self, session: SessionRow, positions: Collection[int]) -> dict[int, int]:
        by_segment: dict[int, list[int]] = {}
        for pos in positions:
            by_segment.setdefault(pos >> DEPTH_BITS, []).append(pos)
        found: dict[int, int] = {}
        for some in by_segment.values():
            first, last = min(some), max(some)
            held = data_at(self._tx, session.tree, first)
            asked = {"tree": session.tree, "low": first + 1, "high": last}
            below = [pos for pos, _ in self._tx.rows(_in_range, **asked)] if first < last else []
            starts = [held, *below]
            found |= {pos: starts[bisect_right(below, pos)] for pos in some}
        return found

    def marks(self, session: SessionRow, positions: Collection[int]) -> set[int]:
        return {
            pos
            for some in in_parts(list(positions))
            for (pos,) in self._tx.rows(_marks, tree=session.tree, positions=some)
        }

    def parent(self, session: SessionRow, pos: int) -> int:
        return parent_pos(pos, self._tx.lineage)

    def chain(self, session: SessionRow, pos: int, most: int) -> list[ResultRow]:
        found: list[ResultRow] = []
        while pos and len(found) < most:
            room = min(most - len(found), CHAIN_AT_ONCE)
            rows = self._tx.rows(_chain, tree=session.tree, pos=pos, most=room)
            if not rows or (len(rows) < room and rows[-1][1]):
                at = public(rows[-1][1] if rows else pos)
                raise StoreCorruptError(f"the data at position {at.segment}.{at.depth} is missing")
            found += rows
            pos = rows[-1][1]
        return found

    def in_span(self, session: SessionRow, span: Span, most: int) -> list[ResultRow]:
        low, high = bounds(span)
        args = {"tree": session.tree, "low": low, "high": high, "most": most}
        return list(self._tx.rows(_versions_in, **args))

    def values(self, session: SessionRow, positions: Collection[int]) -> dict[int, bytes]:
        rows = (self._tx.row(_VALUE, tree=session.tree, pos=pos) for pos in positions)
        return {row[0]: row[1] for row in rows if row is not None}

    def put(self, session: SessionRow, pos: int, previous: int, value: bytes) -> None:
        row = {"tree": session.tree, "pos": pos, "previous": previous, "value": value}
        self._tx.add_all("data", [row])
        if not session.has_data:
            self._tx.run(note_data, of_tree=session.tree)

    def all_seen(self, session: SessionRow) -> list[tuple[int, bytes]]:
        tx, tree = self._tx, session.tree
        own = tx.rows(_SEGMENTS_OF, tree=tree, home=session.home)
        ranges = [whole_segment(segment) for (segment,) in own]
        ranges += [bounds(span) for span in spans_up(unpack_place(session.fork), tx.lineage)]
        return [
            (pos, tx.row(_VALUE, tree=tree, pos=pos)[1])
            for low, high in ranges
            for pos, _ in tx.rows(_in_range, tree=tree, low=low, high=high)
        ]

    def rewrite(self, session: SessionRow, values: Sequence[tuple[int, bytes]]) -> None:
        rows = [{"of_tree": session.tree, "of_pos": pos, "value": it} for pos, it in values]
        self._tx.run_many(_PUT_VALUE, rows)


def copy_data(tx: Tx, fork: SessionRow, base: int, source: int, first: int, last: int) -> None:
    """Copy the versions of a span into a segment, in which every depth stays."""
    copies = [
        {
            "tree": fork.tree,
            "pos": base | (pos & MAX_DEPTH),
            "previous": base | (previous & MAX_DEPTH) if previous else 0,
            "value": tx.row(_VALUE, tree=source, pos=pos)[1],
        }
        for pos, previous in tx.rows(_in_range, tree=source, low=first, high=last)
    ]
    if copies:
        tx.add_all("data", copies)


def delete_data(t: Tables) -> Any:
    """Return the statement that deletes versions by their positions."""
    d = t.data.c
    return delete(t.data).where(
        d.tree == bindparam("tree"), d.pos.in_(bindparam("positions", expanding=True))
    )


def _nearest(t: Tables) -> Any:
    d = t.data.c
    between = d.pos.between(bindparam("low"), bindparam("high"))
    return select(func.max(d.pos)).where(d.tree == bindparam("tree"), between)


def _in_range(t: Tables) -> Any:
    d = t.data.c
    between = d.pos.between(bindparam("low"), bindparam("high"))
    return select(d.pos, d.previous).where(d.tree == bindparam("tree"), between).order_by(d.pos)


def _versions_in(t: Tables) -> Any:
    d, m = t.data.c, t.message.c
    joined = t.data.outerjoin(t.message, and_(m.tree == d.tree, m.pos == d.pos))
    columns = (d.pos, d.previous, d.value, m.id, m.created_at)
    between = d.pos.between(bindparam("low"), bindparam("high"))
    found = select(*columns).select_from(joined).where(d.tree == bindparam("tree"), between)
    return found.order_by(d.pos).limit(bindparam("most"))


def _marks(t: Tables) -> Any:
    m = t.message.c
    return select(m.pos).where(
        m.tree == bindparam("tree"),
        m.pos.in_(bindparam("positions", expanding=True)),
        m.body.is_(None),
        m.role == literal(MARK, m.role.type),
    )


def _chain(t: Tables) -> Any:
    """Return a version and so many before it; their values are joined when they are all known."""
    d, m, before = t.data.c, t.message.c, t.data.alias("before")
    tree = bindparam("tree", type_=d.tree.type)
    begin = select(d.pos, d.previous, number(1).label("n")).where(
        d.tree == tree, d.pos == bindparam("pos", type_=d.pos.type)
    )
    chain = begin.cte("chain", recursive=True)
    chain = chain.union_all(
        select(before.c.pos, before.c.previous, (chain.c.n + number(1)).label("n")).where(
            before.c.tree == tree,
            before.c.pos == chain.c.previous,
            chain.c.n < bindparam("most", type_=d.pos.type),
        )
    )
    joined = chain.join(t.data, and_(d.tree == tree, d.pos == chain.c.pos)).outerjoin(
        t.message, and_(m.tree == tree, m.pos == chain.c.pos)
    )
    columns = (chain.c.pos, chain.c.previous, d.value, m.id, m.created_at)
    return select(*columns).select_from(joined).order_by(chain.c.n)


def note_data(t: Tables) -> Any:
    """Return the statement that notes that there is data in a tree."""
    s = t.session.c
    return update(t.session).where(s.tree == bindparam("of_tree")).values(has_data=1)
