"""Statements about what deletions leave to be done. A segment's number says all: trees are 0."""

from __future__ import annotations

from ..relational._sync.sweep import SweepStatements
from ..relational.position import DEPTH_BITS, whole_segment
from ..relational.rows import KIND_RETIRE, SessionRow
from .connection import Connection
from .feed import KIND_GONE, note_erasure, record_removal, tell_record
from .lookup import leave_descent
from .overlays import drop_unused_overlays

_ADD_ALL = "INSERT OR IGNORE INTO sweep SELECT number FROM segment WHERE home = ?"
_STAND = (
    "SELECT max(coalesce((SELECT max(parent) FROM segment WHERE parent BETWEEN ?1 AND ?2), ?1),"
    " coalesce((SELECT max(fork) FROM session WHERE fork > 0 AND fork BETWEEN ?1 AND ?2), ?1))"
    " FROM segment g WHERE g.number = ?3"
    " AND NOT EXISTS (SELECT 1 FROM session s WHERE s.home = g.home)"
)
_CUT = (
    "DELETE FROM message WHERE pos IN"
    " (SELECT pos FROM message WHERE pos > ? AND pos <= ? ORDER BY pos DESC LIMIT ?)"
    " RETURNING pos"
)


class SqliteSweepStatements(SweepStatements[Connection]):
    """Statements about what deletions leave to be done."""

    rows_at_once = 100

    def retire(self, session: SessionRow) -> None:
        tx = self._tx
        tx.run(_ADD_ALL, (session.home,))
        self._add(session.fork)
        overlays = tx.rows("SELECT overlay FROM in_force WHERE session = ?", (session.number,))
        tx.run("DELETE FROM in_force WHERE session = ?", (session.number,))
        drop_unused_overlays(tx, [number for (number,) in overlays])
        leave_descent(tx, session.home)
        tell_record(tx, session, KIND_RETIRE)
        note_erasure(tx)
        tx.left_to_sweep = True

    def lock_next(self) -> tuple[int, int | None] | None:
        segment = self._tx.value("SELECT max(segment) FROM sweep")
        return None if segment is None else (0, segment)

    def deepest_stand(self, tree: int, segment: int) -> int | None:
        found: int | None = self._tx.value(_STAND, (*whole_segment(segment), segment))
        return found

    def cut(self, tree: int, kept: int, last: int) -> int:
        gone = self._tx.rows(_CUT, (kept, last, self.rows_at_once))
        self._tx.run_many("DELETE FROM edit WHERE pos = ?", gone)
        self._tx.run_many("DELETE FROM data WHERE pos = ?", gone)
        if gone:
            record_removal(self._tx, KIND_GONE, min(gone)[0], max(gone)[0])
            # Noted here, too: the file may have been rewritten since the session was retired.
            note_erasure(self._tx)
        return len(gone)

    def _add(self, stood_on: int) -> None:
        if stood_on:
            self._tx.run("INSERT OR IGNORE INTO sweep VALUES (?)", (stood_on >> DEPTH_BITS,))

    def take_off(self, tree: int, segment: int, *, is_empty: bool) -> None:
        if is_empty:
            sql = "DELETE FROM segment WHERE number = ? RETURNING parent"
            self._add(self._tx.value(sql, (segment,)))
        self._tx.run("DELETE FROM sweep WHERE segment = ?", (segment,))
