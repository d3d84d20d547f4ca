"""What a listing asks for, as conditions; every text is a constant, every value an argument."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ...model import SessionQuery, microseconds_of


def conditions(query: SessionQuery, after: tuple[int, int] | None) -> tuple[list[str], list[Any]]:
    """Return the conditions of a query, after `(active_s, number)`, and their values."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    if after is not None and query.order == "active":
        found.append((" AND (s.active_s, s.number) < (%s, %s)", after))
    elif after is not None:
        found.append((" AND s.number < %s", after[1:]))
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
