"""Statements about overlays."""

from __future__ import annotations

from ...model import Overlay
from ...rules.tree import Place
from ..relational._sync.overlays import OverlayStatements
from ..relational.position import MAX_DEPTH
from ..relational.rows import OVERLAY_LAST, OVERLAY_NUMBER, NewOverlayRow, Row, SessionRow
from ..relational.walk import ranges_between
from .connection import Connection
from .feed import KIND_COVER, KIND_REWRITE, KIND_UNCOVER, record_change, record_removal
from .rows import OVERLAY_COLUMNS, overlay_as_found, overlay_of
from .sums import deltas_between, forget_shown_below, path_tokens

# Its end as the session has it, by which it is found: also when the overlay's own is damaged.
_AS_IN_FORCE = OVERLAY_COLUMNS.replace("o.last", "f.last")
_FIND = (
    f"SELECT {_AS_IN_FORCE} FROM overlay o JOIN in_force f"
    " ON f.overlay = o.number AND f.session = ? WHERE o.tree = ? AND o.id = ?"
)
_IN_FORCE = (
    f"SELECT {OVERLAY_COLUMNS} FROM in_force f JOIN overlay o ON o.number = f.overlay"
    " WHERE f.session = ? ORDER BY o.number"
)
_ADD = (
    "INSERT INTO overlay (tree, id, first, last, tokens, covered_tokens, created_by,"
    " created_at, metadata, summary, checksum)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
    " checksum_of(?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)) RETURNING number"
)
_REWRITE = (
    "UPDATE overlay SET metadata = ?2, summary = ?3, checksum = checksum_of(id, first, last,"
    " tokens, covered_tokens, created_by, created_at, ?2, ?3) WHERE number = ?1"
)
BY_NUMBER = f"SELECT {OVERLAY_COLUMNS} FROM overlay o WHERE number = ?"
_FIGURES_AT = (
    "SELECT m.path_tokens, m.tokens, coalesce(e.delta, 0) FROM message m"
    " LEFT JOIN edit e ON e.pos = m.pos WHERE m.pos = ?"
)
_EDITED = "SELECT 1 FROM edit WHERE pos BETWEEN ? AND ? AND seq > ?"


class SqliteOverlayStatements(OverlayStatements[Connection]):
    """Statements about overlays."""

    def find(self, session: SessionRow, id: str) -> Row | None:
        found: Row | None = self._tx.row(_FIND, (session.number, session.tree, id))
        return found

    def in_force(self, session: SessionRow) -> list[Row]:
        return self._tx.rows(_IN_FORCE, (session.number,))

    def is_taken(self, session: SessionRow, id: str) -> bool:
        sql = "SELECT 1 FROM overlay WHERE tree = ? AND id = ?"
        return self._tx.value(sql, (session.tree, id)) is not None

    def add(self, session: SessionRow, new: NewOverlayRow) -> Row:
        number = self._tx.value(_ADD, (session.tree, *new))
        put_in_force(self._tx, session.number, new.last, new.first, number)
        forget_shown_below(self._tx, session.number, new.last)
        record_change(self._tx, session, KIND_COVER, number, number, self._tx.clock())
        made: Row = self._tx.row(BY_NUMBER, (number,))
        return made

    def rewrite(self, session: SessionRow, found: Row, summary: str, metadata: bytes) -> None:
        number = found[OVERLAY_NUMBER]
        self._tx.run(_REWRITE, (number, metadata, summary))
        if summary != overlay_of(found).summary:
            now = self._tx.clock()
            record_change(self._tx, session, KIND_REWRITE, -number, -number, now)

    def remove(self, session: SessionRow, found: Row) -> None:
        self._tx.run(
            "DELETE FROM in_force WHERE session = ? AND last = ? AND overlay = ?",
            (session.number, found[OVERLAY_LAST], found[OVERLAY_NUMBER]),
        )
        forget_shown_below(self._tx, session.number, found[OVERLAY_LAST])
        drop_unused_overlays(self._tx, [found[OVERLAY_NUMBER]])

    def tokens_between(self, session: SessionRow, first: int, last: int) -> int:
        running, own, delta = self._tx.row(_FIGURES_AT, (first,))
        # The first row's own share of the running sum is its tokens as they were when appended.
        before: int = running - own + delta
        return deltas_between(self._tx, first, last) + path_tokens(self._tx, last) - before

    def is_changed(self, session: SessionRow, first: Place, last: Place, snapshot: int) -> bool:
        ranges = ranges_between(first, last, self._tx.lineage)
        return any(self._tx.value(_EDITED, (*ends, snapshot)) for ends in ranges)

    def overlay_of(self, row: Row) -> Overlay:
        return overlay_of(row)

    def removed(self, row: Row) -> Overlay:
        return overlay_as_found(row)


def put_in_force(tx: Connection, session: int, last: int, first_depth: int, overlay: int) -> None:
    """Put an overlay in force for a session."""
    tx.run(
        "INSERT INTO in_force (session, last, first_depth, overlay) VALUES (?, ?, ?, ?)",
        (session, last, first_depth & MAX_DEPTH, overlay),
    )


def drop_unused_overlays(tx: Connection, numbers: list[int]) -> None:
    """Delete those of the overlays that no session has in force."""
    for number in numbers:
        is_gone = tx.value(
            "DELETE FROM overlay WHERE number = ?1"
            " AND NOT EXISTS (SELECT 1 FROM in_force WHERE overlay = ?1) RETURNING 1",
            (number,),
        )
        if is_gone:
            record_removal(tx, KIND_UNCOVER, number, number)
