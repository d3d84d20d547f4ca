"""Listing sessions: filters, order and keyset pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from ...errors import UsageError
from ...model import SessionQuery, microseconds_of
from .state import SessionRow

Key = tuple[int, int]

_CURSOR = re.compile(r"(active|created)\.(-?[0-9]{1,20})\.([0-9]{1,20})", re.ASCII)


def page_of(
    sessions: Iterable[SessionRow], query: SessionQuery
) -> tuple[list[SessionRow], str | None]:
    """Give a page of sessions, newest first, and the cursor that continues it."""
    start = None if query.cursor is None else _read_cursor(query.cursor, query.order)
    rows = [
        row
        for row in sessions
        if (start is None or _key(row, query.order) < start) and _matches(row, query)
    ]
    rows.sort(key=lambda row: _key(row, query.order), reverse=True)
    page = rows[: query.limit]
    if len(rows) <= query.limit:
        return page, None
    second, number = _key(page[-1], query.order)
    return page, f"{query.order}.{second}.{number}"


def _key(row: SessionRow, order: str) -> Key:
    return (row.active_us // 1_000_000 if order == "active" else 0), row.number


def _read_cursor(cursor: str, order: str) -> Key:
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or match[1] != order:
        raise UsageError(
            f"{cursor!r} is not a cursor of this listing: use the one that the last page gave",
            path="cursor",
        )
    return int(match[2]), int(match[3])


def _matches(row: SessionRow, query: SessionQuery) -> bool:
    return (
        (query.state is None or row.state == query.state)
        and set(query.tags) <= set(row.tags)
        and (query.title_prefix is None or _begins(row.title, query.title_prefix))
        and (query.parent is None or _parent(row) == query.parent)
        and _within(row.created_us, query.created_from, query.created_until)
        and _within(row.active_us, query.active_from, query.active_until)
    )


def _begins(title: str | None, prefix: str) -> bool:
    return title is not None and title.startswith(prefix)


def _parent(row: SessionRow) -> str | None:
    return None if row.parent is None else row.parent.session


def _within(time_us: int, start: datetime | None, until: datetime | None) -> bool:
    return (start is None or microseconds_of(start) <= time_us) and (
        until is None or time_us < microseconds_of(until)
    )
