"""Listing sessions: a page at a time, each page a seek."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import and_, func, literal, or_

from ...errors import UsageError
from ...model import SessionPage, SessionQuery, SessionRecord, microseconds_of
from .lookup import find_owner
from .rows import CONTEXT_IN_RECORD, record_of, records
from .tables import Tables
from .tx import Tx


def list_page(
    tx: Tx, owner: str, query: SessionQuery, get: Callable[[str, str], SessionRecord]
) -> SessionPage:
    """Give a page, and the cursor after its last session."""
    number = find_owner(tx, owner)
    if number is None:
        _seek(tx.tables, query)
        return SessionPage(sessions=[], cursor=None)
    rows = tx.conn.execute(_page(tx.tables, number, query)).all()
    page, has_next = rows[: query.limit], len(rows) > query.limit
    cursor = f"{page[-1][0]}.{page[-1][1]}" if has_next else None
    found = []
    for _, _, *row in page:
        context = row[CONTEXT_IN_RECORD]
        found.append(get(owner, row[0]) if context is None else record_of(row, context))
    return SessionPage(sessions=found, cursor=cursor)


def _page(t: Tables, owner: int, query: SessionQuery) -> Any:
    s = t.session.c
    order = [s.number.desc()]
    if query.order == "active":
        order = [s.active_s.desc(), s.number.desc()]
    wanted = [s.owner == owner, *_seek(t, query), *_filters(t, query), *_ranges(t, query)]
    asked = records(t, s.active_s, s.number).where(*wanted)
    return asked.order_by(*order).limit(query.limit + 1)


def _seek(t: Tables, query: SessionQuery) -> list[Any]:
    """Give the condition that begins after the cursor."""
    if query.cursor is None:
        return []
    s = t.session.c
    active_s, number = _split(query.cursor)
    if query.order != "active":
        return [s.number < number]
    rest = and_(s.active_s == active_s, s.number < number)
    return [s.active_s <= active_s, or_(s.active_s < active_s, rest)]


def _filters(t: Tables, query: SessionQuery) -> list[Any]:
    p = t.profile.c
    found = []
    if query.state is not None:
        found.append(p.state == query.state)
    if query.parent is not None:
        found.append(p.parent == query.parent)
    if query.title_prefix is not None:
        prefix = query.title_prefix.encode()
        found.append(func.substr(p.title, 1, len(prefix)) == literal(prefix, p.title.type))
    return found + [_has_tag(t, f"\n{tag}\n".encode()) for tag in query.tags]


def _has_tag(t: Tables, packed: bytes) -> Any:
    tags = t.profile.c.tags
    if t.kind == "sqlite":
        return func.instr(tags, literal(packed, tags.type)) > 0
    return func.position(literal(packed, tags.type).op("IN")(tags)) > 0


def _ranges(t: Tables, query: SessionQuery) -> list[Any]:
    s = t.session.c
    ranges = (
        (s.created_at.__ge__, query.created_from),
        (s.created_at.__lt__, query.created_until),
        (s.active_at.__ge__, query.active_from),
        (s.active_at.__lt__, query.active_until),
    )
    return [compare(microseconds_of(moment)) for compare, moment in ranges if moment is not None]


def _split(cursor: str) -> tuple[int, int]:
    active_s, _, number = cursor.partition(".")
    is_short = max(len(active_s), len(number)) <= 18
    if not (is_short and cursor.isascii() and active_s.isdigit() and number.isdigit()):
        raise UsageError(f"{cursor!r} is not a cursor of this listing", path="cursor")
    return int(active_s), int(number)
