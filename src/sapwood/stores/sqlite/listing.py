"""Statements about pages of sessions."""

from __future__ import annotations

from typing import Any

from ...model import SessionQuery
from ..relational._sync.listing import ListingStatements
from ..relational.filters import filters
from ..relational.rows import Row
from .connection import Connection
from .rows import RECORD_COLUMNS, RECORD_TABLES

_SELECT = f"SELECT s.active_s, s.number, {RECORD_COLUMNS} FROM {RECORD_TABLES} WHERE s.owner = ?"
_ORDERS = {
    "active": " ORDER BY s.active_s DESC, s.number DESC LIMIT ?",
    "created": " ORDER BY s.number DESC LIMIT ?",
}


class SqliteListingStatements(ListingStatements[Connection]):
    """Statements about pages of sessions."""

    def page(
        self, owner: int, query: SessionQuery, after: tuple[int, int] | None, most: int
    ) -> list[Row]:
        conditions, args = _conditions(query)
        rows: list[Row] = []
        for seek, values in _seeks(query, after):
            room = most - len(rows)
            if room:
                sql = _SELECT + seek + conditions + _ORDERS[query.order]
                rows += self._tx.rows(sql, (owner, *values, *args, room))
        return rows


def _seeks(query: SessionQuery, after: tuple[int, int] | None) -> list[tuple[str, tuple[int, ...]]]:
    """Return what is left after a place: the rest of its second, then the older ones.

    For `(active_s, number) < (?, ?)` SQLite would read the whole second from its beginning.
    """
    if after is None:
        return [("", ())]
    active_s, number = after
    if query.order == "created":
        return [(" AND s.number < ?", (number,))]
    return [
        (" AND s.active_s = ? AND s.number < ?", (active_s, number)),
        (" AND s.active_s < ?", (active_s,)),
    ]


def _conditions(query: SessionQuery) -> tuple[str, list[Any]]:
    """Return the conditions of a query; every text is a constant, every value an argument."""
    found: list[tuple[str, list[Any]]] = [(f"{it.text}?", [it.value]) for it in filters(query)]
    if query.title_prefix is not None:
        # As bytes: of a text, SQLite counts the characters before the first NUL only.
        text = " AND substr(CAST(p.title AS BLOB), 1, length(?)) = ?"
        found.append((text, [query.title_prefix.encode()] * 2))
    has_tag = " AND EXISTS (SELECT 1 FROM json_each(p.tags) j WHERE j.value = ?)"
    found += [(has_tag, [tag]) for tag in query.tags]
    return "".join(text for text, _ in found), [value for _, values in found for value in values]
