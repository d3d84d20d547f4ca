"""Work on the store as a whole: health, owners, the search for damage, and its repair."""

from __future__ import annotations

from collections.abc import Iterator
from os import W_OK, access
from pathlib import Path

import apsw

from ...errors import StoreCorruptError
from ...model import ChangedOwners, EdgeKind, Health, Problem
from ...rules.codec import decode_body
from ...rules.tree import extend_lineage
from ..relational.position import (
    MAX_DEPTH,
    pack_lineage,
    public,
    unpack_lineage,
    unpack_place,
    whole_segment,
)
from ..relational.problems import (
    misplaced_overlay,
    segment_problem,
    session_problem,
    wrong_figures,
    wrong_sum,
)
from ..relational.rows import BODY, ID, SessionRow
from .connection import Connection
from .data_check import data_problems, rebuild_data
from .documents import DOCUMENT_COLUMNS, document_of
from .feed import changed_owners
from .index.indexer import index_problems
from .listing_check import listing_problems, rebuild_listing
from .lookup import SESSION_COLUMNS, id_at, missing_message
from .overlays import BY_NUMBER
from .rows import MESSAGE_COLUMNS, overlay_of, refuse_if_changed
from .sums import context_at, overlays_with_wrong_sums, path_tokens
from .usage import owners_with_wrong_totals, rebuild_totals

_WRONG_SUMS = """
SELECT m.id FROM message m
JOIN segment g ON g.number = m.pos >> 24
LEFT JOIN edit e ON e.pos = m.pos
LEFT JOIN message b ON b.pos = CASE
    WHEN (m.pos & 0xffffff) = (g.parent & 0xffffff) + 1 THEN g.parent ELSE m.pos - 1 END
WHERE m.path_tokens - coalesce(b.path_tokens, 0) <> m.tokens - coalesce(e.delta, 0)
"""

_FORCE_FAULTS = """
SELECT f.overlay FROM in_force f LEFT JOIN overlay o ON o.number = f.overlay
WHERE o.number IS NULL OR f.last <> o.last OR f.first_depth <> o.first & 0xffffff
"""

_ALL_SESSIONS = f"SELECT {SESSION_COLUMNS} FROM standing s"

_DOCUMENT = f"SELECT {DOCUMENT_COLUMNS} FROM document WHERE version = ?"


class SqliteAdmin:
    """Work on the store as a whole."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx

    def health(self) -> Health:
        """Return which store this is."""
        path = Path(self._tx.raw.filename)
        writable = access(path, W_OK) and access(path.parent, W_OK)
        return Health(store="sqlite", version=apsw.sqlite_lib_version(), writable=writable)

    def schema_version(self) -> int:
        """Return the schema's version."""
        found: int = self._tx.value("PRAGMA user_version")
        return found

    def owners(self) -> list[str]:
        """List the owners."""
        rows = self._tx.rows(
            "SELECT name FROM owner o WHERE EXISTS (SELECT 1 FROM session WHERE owner = o.number)"
            " OR EXISTS (SELECT 1 FROM document WHERE owner = o.number) ORDER BY name"
        )
        return [name for (name,) in rows]

    def changed_owners(self, after: str, limit: int) -> ChangedOwners:
        """List the owners that changed after a cursor."""
        return changed_owners(self._tx, after, limit)

    def check(self) -> list[Problem]:
        """Look for damage, and for figures that do not add up."""
        problems: list[Problem] = []
        try:
            problems += self._file()
            if not problems:
                # What was found before an error stays.
                problems.extend(self._contents())
                problems += index_problems(self._tx)
        except (apsw.CorruptError, StoreCorruptError, UnicodeDecodeError) as error:
            problems.append(Problem(kind="file", where="database", what=str(error)))
        return problems

    def _contents(self) -> Iterator[Problem]:
        yield from self._bodies()
        yield from self._summaries()
        yield from self._documents()
        yield from self._segments()
        yield from data_problems(self._tx)
        yield from (wrong_sum(id) for (id,) in self._tx.rows(_WRONG_SUMS))
        yield from (misplaced_overlay(number) for (number,) in self._tx.rows(_FORCE_FAULTS))
        yield from self._sessions()
        yield from self._edges()
        yield from listing_problems(self._tx)
        for name in owners_with_wrong_totals(self._tx):
            what = "what all sessions cost is not the sum of what each did"
            yield Problem(kind="owner", where=str(name), what=what)

    def repair(self) -> None:
        """Rebuild what is derived."""
        repair(self._tx)

    def _file(self) -> list[Problem]:
        return [
            Problem(kind="file", where="database", what=what)
            for (what,) in self._tx.rows("PRAGMA integrity_check")
            if what != "ok"
        ]

    def _bodies(self) -> Iterator[Problem]:
        for (pos,) in self._tx.raw.execute("SELECT pos FROM message"):
            try:
                self._refuse_damaged(pos)
            except (StoreCorruptError, UnicodeDecodeError) as error:
                yield Problem(kind="message", where=self._name(pos), what=str(error))

    def _refuse_damaged(self, pos: int) -> None:
        row = self._tx.row(f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE pos = ?", (pos,))
        if row is None:
            raise missing_message(pos)
        if row[BODY] is not None:
            decode_body(row[BODY], row[ID])
        refuse_if_changed(row)

    def _name(self, pos: int) -> str:
        """Return a message's id, or the place of one whose id cannot be read."""
        try:
            return str(id_at(self._tx, pos))
        except (StoreCorruptError, UnicodeDecodeError):
            at = public(pos)
            return f"{at.segment}.{at.depth}"

    def _summaries(self) -> Iterator[Problem]:
        for (number,) in self._tx.rows("SELECT number FROM overlay"):
            try:
                overlay_of(self._tx.row(BY_NUMBER, (number,)))
            except (StoreCorruptError, UnicodeDecodeError) as error:
                yield Problem(kind="overlay", where=str(number), what=str(error))

    def _documents(self) -> Iterator[Problem]:
        for (version,) in self._tx.raw.execute("SELECT version FROM document ORDER BY 1"):
            where = str(version)
            try:
                row = self._tx.row(_DOCUMENT, (version,))
                where = row[1]
                document_of(row)
            except (StoreCorruptError, UnicodeDecodeError) as error:
                yield Problem(kind="document", where=where, what=str(error))

    def _segments(self) -> Iterator[Problem]:
        for number, parent, data in self._tx.raw.execute(
            "SELECT number, parent, lineage FROM segment"
        ):
            place = unpack_place(parent)
            if place and not self._has(parent):
                yield segment_problem(number, "its parent is missing")
                continue
            lineage = extend_lineage(place, self._tx.lineage(place.segment) if place else [])
            if unpack_lineage(data) != lineage:
                yield segment_problem(number, "its lineage is wrong")

    def _has(self, pos: int) -> bool:
        return bool(self._tx.value("SELECT 1 FROM message WHERE pos = ?", (pos,)))

    def _sessions(self) -> Iterator[Problem]:
        for row in map(SessionRow._make, self._tx.rows(_ALL_SESSIONS)):
            if row.tip and not self._has(row.tip):
                yield session_problem(row, "its tip is missing")
                continue
            live = _count_live(self._tx, row)
            sql = "SELECT count(*) FROM in_force WHERE session = ?"
            in_force = self._tx.value(sql, (row.number,))
            yield from wrong_figures(row, live, in_force, context_at(self._tx, row, row.tip))
            for number in overlays_with_wrong_sums(self._tx, row):
                what = f"it keeps a wrong sum of what is shown at overlay {number}"
                yield session_problem(row, what)

    def _edges(self) -> Iterator[Problem]:
        rows = self._tx.rows(
            "SELECT s.id, p.parent_kind FROM profile p JOIN session s ON s.number = p.session"
            " WHERE p.parent IS NOT NULL"
        )
        known = {kind.value for kind in EdgeKind}
        for id, kind in rows:
            if kind not in known:
                what = f"its link to its parent is of no known kind: {kind!r}"
                yield Problem(kind="session", where=id, what=what)


def _count_live(tx: Connection, session: SessionRow) -> int:
    """Count the messages that a session wrote and that were not deleted."""
    sql = "SELECT count(*) FROM message WHERE home = ? AND body IS NOT NULL"
    return int(tx.value(sql, (session.home,)))


def repair(tx: Connection) -> None:
    """Rebuild all of it, in the order in which one rests on the other."""
    if tx.value("PRAGMA integrity_check(1)") != "ok":
        # Everything after this is found by indexes.
        tx.rows("REINDEX")
    _rebuild_lineages(tx)
    rebuild_data(tx)
    _rebuild_sums(tx)
    _rebuild_force(tx)
    _rebuild_sessions(tx)
    rebuild_totals(tx)
    rebuild_listing(tx)


def _rebuild_lineages(tx: Connection) -> None:
    # A segment follows one that was there before it, so that its number is lower.
    for number, parent, data in tx.rows("SELECT number, parent, lineage FROM segment ORDER BY 1"):
        place = unpack_place(parent)
        above = tx.row("SELECT 1 FROM segment WHERE number = ?", (place.segment,)) if place else 1
        if above is None:
            continue
        lineage = pack_lineage(extend_lineage(place, tx.lineage(place.segment) if place else []))
        if lineage != data:
            tx.run("UPDATE segment SET lineage = ? WHERE number = ?", (lineage, number))


def _rebuild_sums(tx: Connection) -> None:
    tx.run("DELETE FROM edit WHERE pos NOT IN (SELECT pos FROM message)", ())
    tx.run("UPDATE session SET edited = 1 WHERE EXISTS (SELECT 1 FROM edit)", ())
    if not tx.rows(f"{_WRONG_SUMS} LIMIT 1"):
        return
    for number, parent in tx.rows("SELECT number, parent FROM segment ORDER BY 1"):
        running = tx.value("SELECT path_tokens FROM message WHERE pos = ?", (parent,)) or 0
        _rebuild_segment_sums(tx, number, running)


def _rebuild_segment_sums(tx: Connection, segment: int, running: int) -> None:
    rows = tx.rows(
        "SELECT m.pos, m.path_tokens, m.tokens - coalesce(e.delta, 0) FROM message m"
        " LEFT JOIN edit e ON e.pos = m.pos WHERE m.pos BETWEEN ? AND ? ORDER BY m.pos",
        whole_segment(segment),
    )
    wrong = []
    for pos, kept, own in rows:
        running += own
        if kept != running:
            wrong.append((running, pos))
    tx.run_many("UPDATE message SET path_tokens = ? WHERE pos = ?", wrong)


def _rebuild_force(tx: Connection) -> None:
    faulty = tx.rows(
        f"SELECT DISTINCT f.session, f.overlay FROM in_force f WHERE f.overlay IN ({_FORCE_FAULTS})"
    )
    tx.run_many("DELETE FROM in_force WHERE session = ? AND overlay = ?", faulty)
    tx.run_many(
        "INSERT INTO in_force (session, last, first_depth, overlay)"
        " SELECT ?, last, first & 0xffffff, number FROM overlay WHERE number = ?",
        faulty,
    )
    tx.run("UPDATE in_force SET shown = NULL WHERE shown IS NOT NULL", ())


def _rebuild_sessions(tx: Connection) -> None:
    tx.run(
        "UPDATE session SET overlays ="
        " (SELECT count(*) FROM in_force WHERE session = session.number)",
        (),
    )
    tx.run("UPDATE session SET active_s = active_at / 1000000", ())
    for row in map(SessionRow._make, tx.rows(_ALL_SESSIONS)):
        _rebuild_session(tx, row)
    tx.run("DELETE FROM stale", ())


def _rebuild_session(tx: Connection, row: SessionRow) -> None:
    if row.tip and not tx.row("SELECT 1 FROM message WHERE pos = ?", (row.tip,)):
        return
    live = _count_live(tx, row)
    context = context_at(tx, row, row.tip)
    assert context is not None
    lead, apart = context - path_tokens(tx, row.tip), live - (row.tip & MAX_DEPTH)
    tx.run("UPDATE session SET lead = ?, apart = ? WHERE number = ?", (lead, apart, row.number))
