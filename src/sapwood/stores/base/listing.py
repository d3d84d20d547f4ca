"""Listings of sessions that no query language is asked for: what is on them, and from where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from ...model import SessionQuery, microseconds_of
from ...rules.system import begins_with
from .refusals import bad_listing_cursor


def read_cursor(query: SessionQuery, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Read a query's cursor, whose pattern begins with the order; None when it has none."""
    if query.cursor is None:
        return None
    match = pattern.fullmatch(query.cursor) if isinstance(query.cursor, str) else None
    if match is None or match[1] != query.order:
        raise bad_listing_cursor(query.cursor)
    return match


def second_of(order: str, active_us: int, updated_us: int) -> int:
    """Return the second by which a session is placed; by creation it is its number that counts."""
    return {"active": active_us, "updated": updated_us, "created": 0}[order] // 1_000_000


def is_listed(
    query: SessionQuery,
    *,
    title: str | None,
    kind: str,
    state: str,
    tags: Iterable[str],
    key: Sequence[str],
    parent: str | None,
    created_us: int,
    active_us: int,
) -> bool:
    """Whether a session is one of those that a query asks for."""
    prefix = query.title_prefix
    return (
        query.kind in (None, kind)
        and query.state in (None, state)
        and set(query.tags) <= set(tags)
        and begins_with(key, query.key)
        and (prefix is None or (title is not None and title.startswith(prefix)))
        and (query.parent is None or parent == query.parent)
        and _is_within(created_us, query.created_from, query.created_until)
        and _is_within(active_us, query.active_from, query.active_until)
    )


def _is_within(time_us: int, start: datetime | None, until: datetime | None) -> bool:
    return (start is None or microseconds_of(start) <= time_us) and (
        until is None or time_us < microseconds_of(until)
    )
