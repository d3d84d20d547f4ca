"""Statements about pages of sessions."""

from __future__ import annotations

import operator
from typing import Any

from sqlalchemy import and_, func, literal, or_

from ...model import SessionQuery
from ..relational._sync.listing import ListingStatements
from ..relational.filters import filters
from ..relational.rows import Row as ListedRow
from .rows import records
from .tables import Tables
from .tx import Tx

_SIGNS = {"=": operator.eq, ">=": operator.ge, "<": operator.lt}


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
        asked = records(t, s.active_s, s.number).where(*wanted)
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
    found = [_SIGNS[it.sign](t.of(it.table).c[it.column], it.value) for it in filters(query)]
    if query.title_prefix is not None:
        title, prefix = t.profile.c.title, query.title_prefix.encode()
        found.append(func.substr(title, 1, len(prefix)) == literal(prefix, title.type))
    return found + [_has_tag(t, f"\n{tag}\n".encode()) for tag in query.tags]


def _has_tag(t: Tables, packed: bytes) -> Any:
    tags = t.profile.c.tags
    if t.kind == "sqlite":
        return func.instr(tags, literal(packed, tags.type)) > 0
    return func.position(literal(packed, tags.type).op("IN")(tags)) > 0
