"""Listing sessions: a page at a time, each page a seek."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from ...errors import UsageError
from ...model import SessionPage, SessionQuery, SessionRecord, microseconds_of
from .connection import Connection
from .owners import find_owner
from .rows import CONTEXT_IN_RECORD, RECORD_COLUMNS, RECORD_TABLES, record_of

_SELECT = f"SELECT s.active_s, s.number, {RECORD_COLUMNS} FROM {RECORD_TABLES} WHERE s.owner = ?"
_ORDERS = {
    "active": " ORDER BY s.active_s DESC, s.number DESC LIMIT ?",
    "created": " ORDER BY s.number DESC LIMIT ?",
}


def list_page(
    tx: Connection,
    owner: str,
    query: SessionQuery,
    get: Callable[[str, str], SessionRecord],
) -> SessionPage:
    """Give a page, and the cursor after its last session."""
    rows = _rows(tx, find_owner(tx, owner), query)
    page, has_next = rows[: query.limit], len(rows) > query.limit
    cursor = f"{page[-1][0]}.{page[-1][1]}" if has_next else None
    records = []
    for _, _, *row in page:
        context = row[CONTEXT_IN_RECORD]
        known = context is not None
        records.append(record_of(tuple(row), context) if known else get(owner, row[0]))
    return SessionPage(sessions=records, cursor=cursor)


def _rows(tx: Connection, owner: int | None, query: SessionQuery) -> list[Any]:
    """Give the rows of a page, and one more when there is one."""
    conditions, args = _conditions(query)
    rows: list[Any] = []
    for seek, values in _seeks(query):
        room = query.limit + 1 - len(rows)
        if room:
            sql = _SELECT + seek + "".join(conditions) + _ORDERS[query.order]
            rows += tx.rows(sql, (owner, *values, *args, room))
    return rows


def _seeks(query: SessionQuery) -> list[tuple[str, tuple[int, ...]]]:
    """Give what is left after the cursor: the rest of its second, then the older ones.

    For `(active_s, number) < (?, ?)` SQLite would read the whole second from its beginning.
    """
    if query.cursor is None:
        return [("", ())]
    active_s, number = _split(query.cursor)
    if query.order == "created":
        return [(" AND s.number < ?", (number,))]
    return [
        (" AND s.active_s = ? AND s.number < ?", (active_s, number)),
        (" AND s.active_s < ?", (active_s,)),
    ]


def _conditions(query: SessionQuery) -> tuple[list[str], list[Any]]:
    """Give the conditions of a query; every text is a constant, every value an argument."""
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


def _split(cursor: str) -> tuple[int, int]:
    active_s, _, number = cursor.partition(".")
    is_short = max(len(active_s), len(number)) <= 18
    if not (is_short and cursor.isascii() and active_s.isdigit() and number.isdigit()):
        raise UsageError(f"{cursor!r} is not a cursor of this listing", path="cursor")
    return int(active_s), int(number)
