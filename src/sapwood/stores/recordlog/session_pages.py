"""Listing sessions: filters, order and keyset pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from ...model import SessionQuery, microseconds_of
from ..base.refusals import bad_listing_cursor
from .state import LogState

PageKey = tuple[int, str]

_CURSOR = re.compile(r"(active|created)\.(-?[0-9]{1,20})\.([0-9a-f]{1,40})", re.ASCII)


def page_of(states: Iterable[LogState], query: SessionQuery) -> tuple[list[LogState], str | None]:
    """Return a page of sessions, newest first, and the cursor that continues it."""
    start = None if query.cursor is None else _read_cursor(query.cursor, query.order)
    found = [
        state
        for state in states
        if (start is None or _key(state, query.order) < start) and _matches(state, query)
    ]
    found.sort(key=lambda state: _key(state, query.order), reverse=True)
    page = found[: query.limit]
    if len(found) <= query.limit:
        return page, None
    second, log = _key(page[-1], query.order)
    return page, f"{query.order}.{second}.{log}"


def _key(state: LogState, order: str) -> PageKey:
    return (state.active_us // 1_000_000 if order == "active" else 0), state.log


def _read_cursor(cursor: str, order: str) -> PageKey:
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or match[1] != order:
        raise bad_listing_cursor(cursor)
    return int(match[2]), match[3]


def _matches(state: LogState, query: SessionQuery) -> bool:
    profile = state.profile
    return (
        (query.state is None or profile.state == query.state)
        and set(query.tags) <= set(profile.tags)
        and (query.title_prefix is None or _begins(profile.title, query.title_prefix))
        and (query.parent is None or _parent(state) == query.parent)
        and _within(state.created_us, query.created_from, query.created_until)
        and _within(state.active_us, query.active_from, query.active_until)
    )


def _begins(title: str | None, prefix: str) -> bool:
    return title is not None and title.startswith(prefix)


def _parent(state: LogState) -> str | None:
    return None if state.parent is None else state.parent[1]


def _within(time_us: int, start: datetime | None, until: datetime | None) -> bool:
    return (start is None or microseconds_of(start) <= time_us) and (
        until is None or time_us < microseconds_of(until)
    )
