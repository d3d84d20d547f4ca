"""Work on the store as a whole: health, owners, the search for damage, and its repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import and_, bindparam, exists, func, or_, select

from ...errors import StoreCorruptError
from ...model import ChangedOwners, Health, Problem
from ...rules.codec import decode_body
from ...rules.tree import extend_lineage
from ...store.owners import next_owners
from ..relational.position import DEPTH_BITS, MAX_DEPTH, pack_lineage, unpack_lineage, unpack_place
from ..relational.problems import (
    misplaced_overlay,
    segment_problem,
    session_problem,
    wrong_figures,
    wrong_sum,
)
from ..relational.rows import SessionRow
from .counters import COUNTED, begin_floor
from .data_check import data_problems, rebuild_data
from .listing_check import listing_problems, rebuild_listing
from .lookup import id_at, session_columns
from .messages import put_session
from .overlays import put_in_force
from .sums import context_at
from .tables import Tables
from .tx import ResultRow, Tx, delete_by, update_by

MESSAGES_IN_A_PAGE = 500

_PUT_LINEAGE = update_by("segment", "number")
_PUT_SUM = update_by("message", "tree", "pos")
_DELETE_FROM_FORCE = delete_by("in_force", "session", "overlay")
_PUT_COUNTER = update_by("counter", "name")


class SqlAdmin:
    """Work on the store as a whole."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def health(self) -> Health:
        """Return which store this is."""
        dialect: Any = self._tx.conn.dialect
        version = ".".join(str(part) for part in dialect.server_version_info or ())
        return Health(store=f"sqlalchemy+{dialect.name}", version=version, writable=True)

    def schema_version(self) -> int:
        """Return the schema's version."""
        return self._tx.value(_version) or 0

    def owners(self) -> list[str]:
        """List the owners."""
        return sorted((name for (name,) in self._tx.rows(_owners)), key=str.encode)

    def repair(self) -> None:
        """Rebuild what is derived."""
        repair(self._tx)

    def changed_owners(self, after: str, limit: int) -> ChangedOwners:
        """List owners, one after the other: whose writes are committed is known for each only."""
        return next_owners(self.owners(), after, limit)

    def check(self) -> list[Problem]:
        """Look for damage, and for figures that do not add up."""
        problems = [*self._messages(), *self._segments()]
        problems += data_problems(self._tx)
        problems += map(wrong_sum, _wrong_sums(self._tx))
        problems += [misplaced_overlay(number) for _, number, _, _ in _force_faults(self._tx)]
        # The figures of sessions add up along segments that are known to be whole.
        problems = problems or list(self._sessions())
        return [*problems, *listing_problems(self._tx)]

    def _messages(self) -> Iterator[Problem]:
        for rows in _pages_of_messages(self._tx):
            for _, _, id, body in rows:
                try:
                    decode_body(body, id)
                except StoreCorruptError as error:
                    yield Problem(kind="message", where=id, what=str(error))

    def _segments(self) -> Iterator[Problem]:
        for number, tree, parent, data in self._tx.rows(segments):
            place = unpack_place(parent)
            if place and id_at(self._tx, tree, parent) is None:
                yield segment_problem(number, "its parent is missing")
                continue
            try:
                above = self._tx.lineage(place.segment) if place else []
            except StoreCorruptError as error:
                yield segment_problem(number, str(error))
                continue
            if data != pack_lineage(extend_lineage(place, above)):
                yield segment_problem(number, "its lineage is wrong")

    def _sessions(self) -> Iterator[Problem]:
        for row in map(SessionRow._make, self._tx.rows(_all_sessions)):
            if row.tip and id_at(self._tx, row.tree, row.tip) is None:
                yield session_problem(row, "its tip is missing")
                continue
            live = self._tx.value(_count_live, tree=row.tree, home=row.home)
            in_force = self._tx.value(_count_in_force, session=row.number)
            yield from wrong_figures(row, live, in_force, context_at(self._tx, row, row.tip))
            if row.ends and row.running != self._tx.value(_running_at, tree=row.tree, pos=row.tip):
                yield session_problem(row, "its running sum is not that of its tip")


def _version(t: Tables) -> Any:
    return select(func.max(t.migration.c.version))


def _owners(t: Tables) -> Any:
    o, s, d = t.owner.c, t.session.c, t.document.c
    sessions = exists().where(s.owner == o.number)
    return select(o.name).where(or_(sessions, exists().where(d.owner == o.number)))


def _all_sessions(t: Tables) -> Any:
    """Return the query of all sessions."""
    return select(*session_columns(t)).order_by(t.session.c.number)


def _count_live(t: Tables) -> Any:
    """Return the query that counts a home's live messages."""
    m = t.message.c
    return select(func.count()).where(
        m.tree == bindparam("tree"), m.home == bindparam("home"), m.body.is_not(None)
    )


def _count_in_force(t: Tables) -> Any:
    """Return the query that counts a session's overlays."""
    return select(func.count()).where(t.in_force.c.session == bindparam("session"))


def _running_at(t: Tables) -> Any:
    """Return the query of the running sum at a position."""
    m = t.message.c
    return select(m.path_tokens).where(m.tree == bindparam("tree"), m.pos == bindparam("pos"))


def _pages_of_messages(tx: Tx) -> Iterator[Any]:
    """Read all live messages, a page at a time."""
    tree = pos = 0
    while rows := tx.rows(_live_after, in_tree=tree, after=pos):
        yield rows
        tree, pos = rows[-1][:2]


def _wrong_sums(tx: Tx) -> Iterator[str]:
    """Return the ids of messages whose running sum is not that before it and its own tokens."""
    for number, tree, parent, _ in tx.rows(segments):
        running = tx.value(_running_at, tree=tree, pos=parent) or 0
        for row in _segment_rows(tx, tree, number):
            _, id, kept, own = row
            if kept - running != own:
                yield id
            running = kept


def _segment_rows(tx: Tx, tree: int, segment: int) -> Iterator[ResultRow]:
    """Return position, id, running sum and tokens as first appended of a segment's messages."""
    low, high = segment << DEPTH_BITS, segment << DEPTH_BITS | MAX_DEPTH
    while rows := tx.rows(_sums_between, tree=tree, low=low, high=high):
        for pos, id, kept, tokens, delta in rows:
            yield pos, id, kept, tokens - (delta or 0)
        low = rows[-1][0] + 1


def _force_faults(tx: Tx) -> list[ResultRow]:
    """Return the session, overlay and true ends of what is in force at a wrong place."""
    return [
        (session, number, first, last)
        for session, number, at, width, first, last in tx.rows(_in_force)
        if first is None or at != last or -width != first & MAX_DEPTH
    ]


def repair(tx: Tx) -> None:
    """Rebuild all of it, in the order in which one rests on the other."""
    _rebuild_lineages(tx)
    rebuild_data(tx)
    _rebuild_sums(tx)
    _rebuild_force(tx)
    counted_up(tx)
    _rebuild_sessions(tx)
    rebuild_listing(tx)


def _rebuild_lineages(tx: Tx) -> None:
    # A segment follows one that was there before it, so that its number is lower.
    lineages: dict[int, Any] = {}
    for number, _, parent, data in tx.rows(segments):
        place = unpack_place(parent)
        if place and place.segment not in lineages:
            lineages[number] = unpack_lineage(data)
            continue
        lineage = extend_lineage(place, lineages[place.segment] if place else [])
        lineages[number] = lineage
        if pack_lineage(lineage) != data:
            tx.run(_PUT_LINEAGE, of_number=number, lineage=pack_lineage(lineage))


def _rebuild_sums(tx: Tx) -> None:
    for number, tree, parent, _ in tx.rows(segments):
        running = tx.value(_running_at, tree=tree, pos=parent) or 0
        wrong = []
        for pos, _, kept, own in _segment_rows(tx, tree, number):
            running += own
            if kept != running:
                wrong.append({"of_tree": tree, "of_pos": pos, "path_tokens": running})
        tx.run_many(_PUT_SUM, wrong)


def _rebuild_force(tx: Tx) -> None:
    for session, number, first, last in _force_faults(tx):
        tx.run(_DELETE_FROM_FORCE, session=session, overlay=number)
        if first is not None:
            put_in_force(tx, session, first, last, number)


def counted_up(tx: Tx) -> None:
    """Let the counters be there; that of SQLite goes on above all numbers that are in use."""
    begin_floor(tx, 0)
    if tx.kind != "sqlite":
        return
    used = tx.value(_last_seq) or 0
    kept = tx.value(COUNTED, name="message")
    if kept is None:
        tx.add("counter", name="message", value=used)
    elif kept < used:
        tx.run(_PUT_COUNTER, of_name="message", value=used)


def _rebuild_sessions(tx: Tx) -> None:
    for found in tx.rows(_all_sessions):
        row = SessionRow._make(found)
        overlays = tx.value(_count_in_force, session=row.number)
        row = row._replace(overlays=overlays, active_s=row.active_at // 1_000_000)
        running = tx.value(_running_at, tree=row.tree, pos=row.tip) if row.tip else 0
        if running is None:
            continue
        tx.run(
            put_session,
            of_number=row.number,
            overlays=overlays,
            active_s=row.active_s,
            running=running,
            messages=tx.value(_count_live, tree=row.tree, home=row.home),
            context=context_at(tx, row, row.tip),
        )


def segments(t: Tables) -> Any:
    """Return the query of all segments, those that stand on others after them."""
    g = t.segment.c
    return select(g.number, g.tree, g.parent, g.lineage).order_by(g.number)


def _live_after(t: Tables) -> Any:
    m = t.message.c
    tree = bindparam("in_tree", type_=m.tree.type)
    later = or_(m.tree > tree, and_(m.tree == tree, m.pos > bindparam("after")))
    return (
        select(m.tree, m.pos, m.id, m.body)
        .where(later, m.body.is_not(None))
        .order_by(m.tree, m.pos)
        .limit(MESSAGES_IN_A_PAGE)
    )


def _sums_between(t: Tables) -> Any:
    m, e = t.message.c, t.edit.c
    joined = t.message.outerjoin(t.edit, and_(e.tree == m.tree, e.pos == m.pos))
    return (
        select(m.pos, m.id, m.path_tokens, m.tokens, e.delta)
        .select_from(joined)
        .where(m.tree == bindparam("tree"), m.pos.between(bindparam("low"), bindparam("high")))
        .order_by(m.pos)
        .limit(MESSAGES_IN_A_PAGE)
    )


def _in_force(t: Tables) -> Any:
    f, o = t.in_force.c, t.overlay.c
    joined = t.in_force.outerjoin(t.overlay, o.number == f.overlay)
    return select(f.session, f.overlay, f.last, f.width, o.first, o.last).select_from(joined)


def _last_seq(t: Tables) -> Any:
    return select(func.max(t.message.c.seq))
