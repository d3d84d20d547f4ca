"""What a listing asks for, as conditions; every text is a constant, every value an argument."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ...errors import UsageError
from ...model import SessionQuery, microseconds_of


def conditions(query: SessionQuery) -> tuple[list[str], list[Any]]:
    """Give the conditions of a query, and their values."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    if query.cursor is not None:
        active_s, number = _split(query.cursor)
        if query.order == "active":
            found.append((" AND (s.active_s, s.number) < (%s, %s)", (active_s, number)))
        else:
            found.append((" AND s.number < %s", (number,)))
    if query.state is not None:
        found.append((" AND p.state = %s", (query.state,)))
    if query.parent is not None:
        found.append((" AND p.parent = %s", (query.parent,)))
    if query.title_prefix is not None:
        prefix = query.title_prefix.encode()
        found.append((" AND substr(p.title, 1, %s) = %s", (len(prefix), prefix)))
    if query.tags:
        found.append((" AND p.tags @> %s::text[]", (list(query.tags),)))
    found += _ranges(query)
    return [text for text, _ in found], [value for _, values in found for value in values]


def _ranges(query: SessionQuery) -> list[tuple[str, tuple[Any, ...]]]:
    ranges: tuple[tuple[str, datetime | None], ...] = (
        (" AND s.created_at >= %s", query.created_from),
        (" AND s.created_at < %s", query.created_until),
        (" AND s.active_at >= %s", query.active_from),
        (" AND s.active_at < %s", query.active_until),
    )
    return [(text, (microseconds_of(moment),)) for text, moment in ranges if moment is not None]


def _split(cursor: str) -> tuple[int, int]:
    active_s, _, number = cursor.partition(".")
    is_short = max(len(active_s), len(number)) <= 18
    if not (is_short and cursor.isascii() and active_s.isdigit() and number.isdigit()):
        raise UsageError(f"{cursor!r} is not a cursor of this listing", path="cursor")
    return int(active_s), int(number)
