"""Statements about pages of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import SessionQuery
from ..relational._sync.listing import ListingStatements
from ..relational.filters import Lane, LookUp, filters
from ..relational.rows import Row
from .connection import Connection
from .rows import RECORD_COLUMNS, RECORD_TABLES

_SECONDS = {"active": "s.active_s", "updated": "s.updated_s", "created": "0"}
_LIST = (
    f"SELECT {{}}, s.number, (SELECT o.name FROM owner o WHERE o.number = s.owner),"
    f" {RECORD_COLUMNS} FROM {RECORD_TABLES} WHERE"
)
_HAS_TAG = (
    " AND EXISTS (SELECT 1 FROM tag g WHERE g.owner = s.owner AND g.tag = ?"
    " AND g.session = s.number)"
)
_NEXT_KIND = "SELECT min(kind) FROM session WHERE"


class SqliteListingStatements(ListingStatements[Connection]):
    """Statements about pages of sessions."""

    def page(
        self,
        lane: Lane,
        query: SessionQuery,
        after: tuple[int, int] | None,
        most: int,
        among: Sequence[int] | None,
    ) -> list[Row]:
        second = _SECONDS[query.order]
        conditions, args = _conditions(lane, query)
        # With a plus no index is taken: for a lane's order, or for the numbers that are given.
        plus = "" if among is None else "+"
        if among is not None:
            numbers = ", ".join(map(str, among))
            conditions += f" AND s.number IN ({numbers})"
        way = "" if query.reverse else " DESC"
        first = "" if query.order == "created" else f"{plus}{second}{way}, "
        order = f" ORDER BY {first}{plus}s.number{way} LIMIT ?"
        listed = _LIST.format(second) + _of_lane(lane, plus) + conditions
        rows: list[Row] = []
        for seek, values in _seeks(query, second, after):
            if room := most - len(rows):
                found = self._tx.rows(listed + seek + order, (*_values(lane), *args, *values, room))
                rows += found
        return rows

    def numbers(self, by: LookUp, most: int) -> list[int]:
        sql = by.text.replace("{s}.", "") + "".join(f"{it.text}?" for it in by.filters) + " LIMIT ?"
        values = [it.value for it in by.filters]
        return [number for (number,) in self._tx.rows(sql, (*values, most))]

    def next_kind(self, owner: int | None, after: str) -> str | None:
        of_owner, args = ("", ()) if owner is None else (" owner = ? AND", (owner,))
        found: str | None = self._tx.value(f"{_NEXT_KIND}{of_owner} kind > ?", (*args, after))
        return found

    def next_state(self, kind: str, after: str) -> str | None:
        sql = "SELECT min(state) FROM session WHERE kind = ? AND state > ?"
        found: str | None = self._tx.value(sql, (kind, after))
        return found


def _of_lane(lane: Lane, plus: str) -> str:
    if lane.owner is None:
        return " s.kind = ? AND s.state = ?"
    # The index of states has no order: the others that have one are gone through.
    of_state = "" if lane.state is None else " AND +s.state = ?"
    return f" {plus}s.owner = ? AND {plus}s.kind = ?{of_state}"


def _values(lane: Lane) -> list[Any]:
    return [it for it in lane if it is not None]


def _seeks(
    query: SessionQuery, second: str, after: tuple[int, int] | None
) -> list[tuple[str, tuple[int, ...]]]:
    """Return what is left after a place: the rest of its second, then the ones behind it.

    For `(active_s, number) < (?, ?)` SQLite would read the whole second from its beginning.
    """
    if after is None:
        return [("", ())]
    sign = ">" if query.reverse else "<"
    if query.order == "created":
        return [(f" AND s.number {sign} ?", after[1:])]
    return [
        (f" AND {second} = ? AND s.number {sign} ?", after),
        (f" AND {second} {sign} ?", after[:1]),
    ]


def _conditions(lane: Lane, query: SessionQuery) -> tuple[str, list[Any]]:
    """Return the conditions of a query; every text is a constant, every value an argument."""
    found: list[tuple[str, list[Any]]] = [
        (f"{it.text}?", [it.value]) for it in filters(lane, query)
    ]
    if query.title_prefix is not None:
        # As bytes: of a text, SQLite counts the characters before the first NUL only.
        text = " AND substr(CAST(p.title AS BLOB), 1, length(?)) = ?"
        found.append((text, [query.title_prefix.encode()] * 2))
    found += [(_HAS_TAG, [tag]) for tag in query.tags]
    return "".join(text for text, _ in found), [value for _, values in found for value in values]
