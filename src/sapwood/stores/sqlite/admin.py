"""Work on the store as a whole: health, owners, and the search for damage."""

from __future__ import annotations

from collections.abc import Iterator
from os import W_OK, access
from pathlib import Path

import apsw

from ...errors import StoreCorruptError
from ...model import EdgeKind, Health, Problem
from ...rules.codec import decode_body
from ...rules.tree import extend_lineage
from ..relational.position import public, unpack_lineage, unpack_place
from ..relational.problems import (
    misplaced_overlay,
    segment_problem,
    session_problem,
    wrong_figures,
    wrong_sum,
)
from ..relational.rows import BODY, ID, SessionRow
from .connection import Connection
from .documents import DOCUMENT_COLUMNS, document_of
from .index.problems import index_problems
from .lookup import id_at, missing_message
from .overlays import BY_NUMBER
from .repair import ALL_SESSIONS, FORCE_FAULTS, WRONG_SUMS, count_live, repair
from .rows import MESSAGE_COLUMNS, overlay_of, refuse_if_changed
from .sums import context_at, overlays_with_wrong_sums
from .usage import owners_with_wrong_totals

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
        yield from (wrong_sum(id) for (id,) in self._tx.rows(WRONG_SUMS))
        yield from (misplaced_overlay(number) for (number,) in self._tx.rows(FORCE_FAULTS))
        yield from self._sessions()
        yield from self._edges()
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
        for row in map(SessionRow._make, self._tx.rows(ALL_SESSIONS)):
            if row.tip and not self._has(row.tip):
                yield session_problem(row, "its tip is missing")
                continue
            live = count_live(self._tx, row)
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
