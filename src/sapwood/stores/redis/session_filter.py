"""Which sessions a listing asks for."""

from __future__ import annotations

from datetime import datetime

from ...model import SessionQuery, microseconds_of
from .session_row import RedisSessionRow


def is_listed(row: RedisSessionRow, query: SessionQuery) -> bool:
    """Whether a session is one of those that a query asks for."""
    profile = row.profile
    title, prefix = profile.title, query.title_prefix
    return (
        (query.state is None or profile.state == query.state)
        and set(query.tags) <= set(profile.tags)
        and (prefix is None or (title is not None and title.startswith(prefix)))
        and (query.parent is None or profile.parent == query.parent)
        and _is_within(row.created_us, query.created_from, query.created_until)
        and _is_within(row.active_us, query.active_from, query.active_until)
    )


def _is_within(time_us: int, start: datetime | None, until: datetime | None) -> bool:
    return (start is None or microseconds_of(start) <= time_us) and (
        until is None or time_us < microseconds_of(until)
    )
