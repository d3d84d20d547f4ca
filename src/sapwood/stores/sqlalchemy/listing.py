"""Statements about pages of sessions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, func, literal, or_

from ...model import SessionQuery, microseconds_of
from ..relational._sync.listing import ListingStatements
from ..relational.rows import Row as ListedRow
from .rows import records
from .tables import Tables
from .tx import Tx


class SqlListingStatements(ListingStatements[Tx]):
    """Statements about pages of sessions."""

    def page(
        self, owner: int, query: SessionQuery, after: tuple[int, int] | None, most: int
    ) -> list[ListedRow]:
        t = self._tx.tables
        s = t.session.c
        order = [s.number.desc()]
        if query.order == "active":
            order = [s.active_s.desc(), s.number.desc()]
        wanted = [s.owner == owner, *_seek(t, query, after), *_filters(t, query)]
        asked = records(t, s.active_s, s.number).where(*wanted, *_ranges(t, query))
        return [tuple(row) for row in self._tx.conn.execute(asked.order_by(*order).limit(most))]


def _seek(t: Tables, query: SessionQuery, after: tuple[int, int] | None) -> list[Any]:
    """Return the condition that begins after a place."""
    if after is None:
        return []
    s = t.session.c
    active_s, number = after
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
