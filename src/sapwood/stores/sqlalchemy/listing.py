"""Statements about pages of sessions, and what these are found by."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, bindparam, func, literal, or_, select, update

from ...model import SessionQuery
from ..relational._sync.listing import ListingStatements
from ..relational.filters import Lane, LookUp, filters
from ..relational.listed import title_key
from ..relational.rows import Row
from .direct import number
from .lookup import records, unpack_tags
from .tables import Tables
from .tx import Tx, update_by

_SIGNS = {"=": operator.eq, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_PUT_TITLE = update_by("profile", "session")
SESSIONS_AT_ONCE = 500


def written_at(now: int) -> dict[str, int]:
    """Return the figures of a session that is written to."""
    return {"updated_at": now, "updated_s": now // 1_000_000}


def put_tags(tx: Tx, owner: int, session: int, tags: bytes) -> None:
    """Let a session that has no tags be found by these."""
    names = dict.fromkeys(unpack_tags(tags))
    tx.add_all("tag", [{"owner": owner, "tag": it, "session": session} for it in names])


def list_earlier(tx: Tx) -> None:
    """Let sessions that are older than what they are found by be found."""
    while found := tx.rows(_unlisted):
        for it in found:
            put_tags(tx, it.owner, it.number, it.tags)
            if it.title is not None:
                key = title_key(it.owner, it.title)
                tx.run(_PUT_TITLE, of_session=it.number, title_key=key)
        places = ("state", "updated_s")
        tx.run_many(
            _put_listed,
            [{"of_number": it.number} | {key: getattr(it, key) for key in places} for it in found],
        )


def _unlisted(t: Tables) -> Any:
    s, p = t.session.c, t.profile.c
    asked = select(s.number, s.owner, s.active_s.label("updated_s"), p.state, p.title, p.tags)
    joined = asked.select_from(t.session.join(t.profile, p.session == s.number))
    return joined.where(s.updated_s.is_(None)).limit(SESSIONS_AT_ONCE)


def _put_listed(t: Tables) -> Any:
    s = t.session.c
    values: dict[str, Any] = {key: bindparam(key) for key in ("state", "updated_s")}
    return update(t.session).where(s.number == bindparam("of_number")).values(values)


class SqlListingStatements(ListingStatements[Tx]):
    """Statements about pages of sessions."""

    def page(
        self,
        lane: Lane,
        query: SessionQuery,
        after: tuple[int, int] | None,
        most: int,
        among: Sequence[int] | None,
    ) -> list[Row]:
        t = self._tx.tables
        s, o = t.session.c, t.owner.c
        seconds = {"active": s.active_s, "updated": s.updated_s, "created": number(0)}
        second = seconds[query.order]
        order = [s.number] if query.order == "created" else [second, s.number]
        of_lane = zip(Lane._fields, lane, strict=True)
        wanted = [s[column] == value for column, value in of_lane if value is not None]
        wanted += [*_seek(order, after, reverse=query.reverse), *_filters(t, lane, query)]
        if among is not None:
            wanted.append(s.number.in_(list(among)))
            # Not in the order of an index, so that the numbers are looked up.
            order = [column + number(0) for column in order]
        owner = select(o.name).where(o.number == s.owner).scalar_subquery()
        asked = records(t, second, s.number, owner).where(*wanted)
        way = [it if query.reverse else it.desc() for it in order]
        return [tuple(row) for row in self._tx.conn.execute(asked.order_by(*way).limit(most))]

    def numbers(self, by: LookUp, most: int) -> list[int]:
        columns = self._tx.tables.of(by.table).c
        wanted = [_SIGNS[it.sign](columns[it.column], it.value) for it in by.filters]
        asked = select(columns[by.number]).where(*wanted).limit(most)
        return list(self._tx.conn.execute(asked).scalars())

    def next_kind(self, owner: int | None, after: str) -> str | None:
        s = self._tx.tables.session.c
        of_owner = [] if owner is None else [s.owner == owner]
        asked = select(func.min(s.kind)).where(*of_owner, s.kind > after)
        found: str | None = self._tx.conn.execute(asked).scalar()
        return found

    def next_state(self, kind: str, after: str) -> str | None:
        s = self._tx.tables.session.c
        asked = select(func.min(s.state)).where(s.kind == kind, s.state > after)
        found: str | None = self._tx.conn.execute(asked).scalar()
        return found


def _seek(order: list[Any], after: tuple[int, int] | None, *, reverse: bool) -> list[Any]:
    """Return the condition that begins after a place."""
    if after is None:
        return []
    *before, last = order
    beyond, up_to = (operator.gt, operator.ge) if reverse else (operator.lt, operator.le)
    rest = beyond(last, after[1])
    if not before:
        return [rest]
    second = before[0]
    rest = and_(second == after[0], rest)
    return [up_to(second, after[0]), or_(beyond(second, after[0]), rest)]


def _filters(t: Tables, lane: Lane, query: SessionQuery) -> list[Any]:
    asked = filters(lane, query)
    found = [_SIGNS[it.sign](t.of(it.table).c[it.column], it.value) for it in asked]
    if query.title_prefix is not None:
        title, prefix = t.profile.c.title, query.title_prefix.encode()
        found.append(func.substr(title, 1, len(prefix)) == literal(prefix, title.type))
    return found + [_has_tag(t, f"\n{tag}\n".encode()) for tag in query.tags]


def _has_tag(t: Tables, packed: bytes) -> Any:
    tags = t.profile.c.tags
    if t.kind == "sqlite":
        return func.instr(tags, literal(packed, tags.type)) > 0
    return func.position(literal(packed, tags.type).op("IN")(tags)) > 0
