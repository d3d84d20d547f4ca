"""Statements about data at positions. A version's key is its position."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence

from ...errors import StoreCorruptError
from ...rules.tree import Span, spans_up
from ..relational._sync.data import DataStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH, bounds, public, unpack_place, whole_segment
from ..relational.rows import MARK, Row, SessionRow
from ..relational.walk import parent_pos
from .checksum import checksum
from .connection import Connection
from .feed import note_erasure_apart
from .lookup import is_seen

_NEAREST = "SELECT max(pos) FROM data WHERE pos BETWEEN ? AND ?"
_INHERITED = "SELECT data_at FROM segment WHERE number = ?"
_VERSION = (
    "SELECT d.pos, d.previous, d.value, d.checksum, m.id, m.created_at"
    " FROM data d LEFT JOIN message m ON m.pos = d.pos WHERE d.pos = ?"
)
_IN_RANGE = "SELECT pos, previous, value, checksum FROM data WHERE pos BETWEEN ? AND ? ORDER BY pos"
_VERSIONS_IN = _VERSION.replace("d.pos = ?", "d.pos BETWEEN ? AND ? ORDER BY d.pos LIMIT ?")
_OWN_SEGMENTS = "SELECT number FROM segment WHERE home = ?"
_PUT = "INSERT INTO data (pos, previous, value, checksum) VALUES (?, ?, ?, ?)"
_REWRITE = "UPDATE data SET value = ?2, checksum = checksum_of(pos, previous, ?2) WHERE pos = ?1"
_NOTE = "UPDATE session SET has_data = 1 WHERE tree = (SELECT tree FROM session WHERE number = ?)"


def data_at(tx: Connection, pos: int) -> int:
    """Return where the data stands that holds at a position; 0 for none."""
    if not pos:
        return 0
    segment = pos >> DEPTH_BITS
    nearest: int | None = tx.value(_NEAREST, (segment << DEPTH_BITS, pos))
    return nearest or _inherited(tx, segment)


def put_data(
    tx: Connection, number: int, pos: int, previous: int, value: bytes, *, is_first: bool
) -> None:
    """Write a version; with the first one, note that the tree of a session has data."""
    tx.run(_PUT, (pos, previous, value, checksum((pos, previous, value))))
    if is_first:
        tx.run(_NOTE, (number,))


def _inherited(tx: Connection, segment: int) -> int:
    """Return where the data stands that held where a segment grew out."""
    return tx.value(_INHERITED, (segment,)) or 0


def refuse_changed_data(row: Row) -> None:
    """Refuse a version that is not as it was written."""
    pos, previous, value, kept, *_ = row
    if checksum((pos, previous, value)) != kept:
        at = public(pos)
        raise StoreCorruptError(
            f"the data at position {at.segment}.{at.depth} is not as it was written: "
            "it can only come back from a backup"
        )


class SqliteDataStatements(DataStatements[Connection]):
    """Statements about data at positions."""

    def is_seen(self, session: SessionRow, pos: int) -> bool:
        home: int | None = self._tx.value("SELECT home FROM message WHERE pos = ?", (pos,))
        return home is not None and is_seen(self._tx, session, pos, home)

    def at(self, session: SessionRow, positions: Collection[int]) -> dict[int, int]:
        by_segment: dict[int, list[int]] = {}
        for pos in positions:
            by_segment.setdefault(pos >> DEPTH_BITS, []).append(pos)
        found: dict[int, int] = {}
        for some in by_segment.values():
            first, last = min(some), max(some)
            held = data_at(self._tx, first)
            sql = "SELECT pos FROM data WHERE pos > ? AND pos <= ? ORDER BY pos"
            below = [pos for (pos,) in self._tx.rows(sql, (first, last))] if first < last else []
            starts = [held, *below]
            found |= {pos: starts[bisect_right(below, pos)] for pos in some}
        return found

    def marks(self, session: SessionRow, positions: Collection[int]) -> set[int]:
        sql = f"SELECT body IS NULL AND role = '{MARK}' FROM message WHERE pos = ?"
        return {pos for pos in positions if self._tx.value(sql, (pos,))}

    def parent(self, session: SessionRow, pos: int) -> int:
        return parent_pos(pos, self._tx.lineage)

    def chain(self, session: SessionRow, pos: int, most: int) -> list[Row]:
        found: list[Row] = []
        while pos and len(found) < most:
            row = self._tx.row(_VERSION, (pos,))
            if row is None:
                at = public(pos)
                raise StoreCorruptError(f"the data at {at.segment}.{at.depth} is missing")
            found.append(_version(row))
            pos = row[1]
        return found

    def in_span(self, session: SessionRow, span: Span, most: int) -> list[Row]:
        return [_version(row) for row in self._tx.rows(_VERSIONS_IN, (*bounds(span), most))]

    def values(self, session: SessionRow, positions: Collection[int]) -> dict[int, bytes]:
        found = (self._tx.row(_IN_RANGE, (pos, pos)) for pos in positions)
        return dict(_checked(row) for row in found if row is not None)

    def put(self, session: SessionRow, pos: int, previous: int, value: bytes) -> None:
        is_first = not session.has_data
        put_data(self._tx, session.number, pos, previous, value, is_first=is_first)

    def all_seen(self, session: SessionRow) -> list[tuple[int, bytes]]:
        segments = self._tx.rows(_OWN_SEGMENTS, (session.home,))
        ranges = [whole_segment(number) for (number,) in segments]
        path = spans_up(unpack_place(session.fork), self._tx.lineage)
        ranges += [bounds(span) for span in path]
        return [_checked(row) for ends in ranges for row in self._tx.rows(_IN_RANGE, ends)]

    def rewrite(self, session: SessionRow, values: Sequence[tuple[int, bytes]]) -> None:
        self._tx.run_many(_REWRITE, values)
        note_erasure_apart(self._tx)


def _version(row: Row) -> Row:
    refuse_changed_data(row)
    return (*row[:3], *row[4:])


def _checked(row: Row) -> tuple[int, bytes]:
    refuse_changed_data(row)
    return row[0], row[2]


COPY_DATA = (
    "INSERT INTO data SELECT pos + ?1, q, value, checksum_of(pos + ?1, q, value) FROM"
    f" (SELECT pos, iif(previous, ?2 | (previous & {MAX_DEPTH}), 0) AS q, value FROM data"
    " WHERE pos BETWEEN ?3 AND ?4)"
)
"""Copies the versions of a span into a segment that begins at ?2."""
