"""Statements about pages of sessions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from ...model import SessionQuery, microseconds_of
from ..relational._sync.listing import ListingStatements
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
                sql = _SELECT + seek + "".join(conditions) + _ORDERS[query.order]
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


def _conditions(query: SessionQuery) -> tuple[list[str], list[Any]]:
    """Return the conditions of a query; every text is a constant, every value an argument."""
    found: list[str] = []
    args: list[Any] = []

    def add(sql: str, *values: Any) -> None:
        found.append(sql)
        args.extend(values)

    if query.state is not None:
        add(" AND p.state = ?", query.state)
    if query.parent is not None:
        add(" AND p.parent = ?", query.parent)
    if query.title_prefix is not None:
        # As bytes: of a text, SQLite counts the characters before the first NUL only.
        prefix = query.title_prefix.encode()
        add(" AND substr(CAST(p.title AS BLOB), 1, length(?)) = ?", prefix, prefix)
    for tag in query.tags:
        add(" AND EXISTS (SELECT 1 FROM json_each(p.tags) j WHERE j.value = ?)", tag)
    _add_ranges(query, add)
    return found, args


def _add_ranges(query: SessionQuery, add: Callable[..., None]) -> None:
    ranges: tuple[tuple[str, datetime | None], ...] = (
        (" AND s.created_at >= ?", query.created_from),
        (" AND s.created_at < ?", query.created_until),
        (" AND s.active_at >= ?", query.active_from),
        (" AND s.active_at < ?", query.active_until),
    )
    for sql, moment in ranges:
        if moment is not None:
            add(sql, microseconds_of(moment))
