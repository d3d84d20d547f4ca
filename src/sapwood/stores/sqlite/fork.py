"""Statements about forks."""

from __future__ import annotations

from ...rules.tree import spans_up
from ..relational._sync.fork import CopiedPath, ForkStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH, bounds, unpack_place
from ..relational.rows import KIND_APPEND, Row, SessionRow
from ..relational.walk import ending_on_path
from .connection import Connection
from .data import COPY_DATA
from .feed import record_change
from .lookup import add_descent
from .messages import new_segment
from .overlays import SqliteOverlayStatements, put_in_force
from .rows import MESSAGE_COLUMNS, missing_overlay, refuse_if_changed

# The first columns of an overlay, without its text.
_IN_FORCE = "SELECT overlay, NULL, first_depth, last FROM in_force WHERE session = ?"
_COPY_DOCUMENTS = (
    "INSERT INTO document (owner, session, key, updated_at, value, checksum, created_at)"
    " SELECT owner, ?, key, updated_at, value, checksum, created_at FROM document"
    " WHERE owner = ? AND session = ? AND expires_at IS NULL AND inherit"
)
_COPY_MESSAGES = (
    "INSERT INTO message SELECT pos + ?1, ?2, id, role, tokens,"
    " ?3 + sum(tokens) OVER (ORDER BY pos), digest, version, created_at, body,"
    " checksum_of(pos + ?1, ?2, id, role, tokens, version, created_at, body)"
    " FROM message WHERE pos BETWEEN ?4 AND ?5"
)


class SqliteForkStatements(ForkStatements):
    """Statements about forks."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx

    def copy_documents(self, fork: SessionRow, source: SessionRow) -> None:
        self._tx.run(_COPY_DOCUMENTS, (fork.number, source.owner, source.number))

    def stand_on(self, fork: SessionRow, source: SessionRow, pos: int) -> int:
        if not pos:
            return 0
        add_descent(self._tx, fork.home, pos)
        rows = self._tx.rows(_IN_FORCE, (source.number,)) if source.overlays else []
        taken = ending_on_path(rows, pos, self._tx.lineage)
        for number, _, first, last in taken:
            put_in_force(self._tx, fork.number, last, first, number)
        return len(taken)

    def copy_path(self, fork: SessionRow, source: SessionRow, pos: int) -> CopiedPath:
        tx, running = self._tx, 0
        base = new_segment(tx, fork.home, 0) << DEPTH_BITS
        for span in reversed(list(spans_up(unpack_place(pos), tx.lineage))):
            first, last = bounds(span)
            offset = base - (span.segment << DEPTH_BITS)
            _refuse_damage(tx, first, last)
            tx.run(_COPY_MESSAGES, (offset, fork.home, running, first, last))
            if source.has_data:
                tx.run(COPY_DATA, (offset, base, first, last))
            running = tx.value("SELECT path_tokens FROM message WHERE pos = ?", (last + offset,))
        tip = base | (pos & MAX_DEPTH)
        record_change(tx, fork, KIND_APPEND, base + 1, tip, tx.clock())
        live = "SELECT count(*) FROM message WHERE pos BETWEEN ? AND ? AND body IS NOT NULL"
        return CopiedPath(base, tx.value(live, (base, tip)))

    def overlays_on(self, source: SessionRow, pos: int) -> list[Row]:
        overlays = SqliteOverlayStatements(self._tx).in_force(source)
        if len(overlays) != source.overlays:
            raise missing_overlay(source.id)
        return ending_on_path(overlays, pos, self._tx.lineage)


def _refuse_damage(tx: Connection, first: int, last: int) -> None:
    """See that nothing damaged is copied: the copy would pass for what was written."""
    sql = f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE pos BETWEEN ? AND ?"
    with tx.stream(sql, (first, last)) as rows:
        for row in rows:
            refuse_if_changed(row)
