"""Statements about sessions, and about pages of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import and_, bindparam, cast, exists, func, or_, select, update
from sqlalchemy.types import BigInteger

from ...model import CHAT, SessionRecord
from ...rules.system import NOTHING
from ..relational._sync.sessions import SessionStatements
from ..relational.rows import (
    KIND_RECORD,
    PINS_KEY,
    SYSTEM_IN_RECORD,
    TAGS_IN_RECORD,
    TITLE_IN_RECORD,
    Profile,
    SessionRow,
    Touches,
    new_row,
    record_of,
)
from ..relational.rows import Row as RecordRow
from .counters import COUNTED, begin_floor
from .feed import record_changes
from .listing import put_tags, written_at
from .lookup import SqlLookupStatements, find_owner, key_of, pack_tags, records, unpack_tags
from .messages import put_session
from .tables import FLOOR, Tables
from .tx import Tx, delete_by, select_by, update_by

_INHERITED_PROFILE = select_by(
    "profile", "session", of=["tags", "budget", "attributes", "model", "source"]
)
_HELD = {
    column: select_by("profile", "session", of=[column]) for column in ("attributes", "system")
}
_PUT_PROFILE = update_by("profile", "session")
_DELETE_SESSION = delete_by("session", "number")
_DELETE_PROFILE = delete_by("profile", "session")
_DELETE_TAGS = delete_by("tag", "session")
_DELETE_USAGE = delete_by("usage", "session")
_DELETE_DOCUMENTS = delete_by("document", "owner", "session")
_ERASE_REST = [delete_by(table, "owner") for table in ("document", "reader", "change")]
_ERASE_OWNER = delete_by("owner", "number")

_PLACE = ("tree", "tip", "fork", "context", "messages", "overlays", "version", "has_data")


class SqlSessionStatements(SessionStatements[Tx]):
    """Statements about sessions."""

    def find_record(self, owner: str, session: str) -> RecordRow | None:
        found: RecordRow | None = self._tx.row(_record, key=key_of(owner, session))
        return found

    def record_of(self, row: RecordRow, context: int) -> SessionRecord:
        title, tags = row[TITLE_IN_RECORD], unpack_tags(row[TAGS_IN_RECORD])
        if row[SYSTEM_IN_RECORD] is None:
            row = (*row[:SYSTEM_IN_RECORD], NOTHING, *row[SYSTEM_IN_RECORD + 1 :])
        return record_of(row, context, None if title is None else title.decode(), tags)

    def pack_tags(self, tags: list[str]) -> bytes:
        return pack_tags(tags)

    def inherited_profile(self, source: SessionRow) -> RecordRow:
        found: RecordRow = self._tx.row(_INHERITED_PROFILE, session=source.number)
        return found

    def insert(
        self,
        owner: str,
        number: int,
        id: str,
        now: int,
        tree: int | None,
        kind: str,
        profile: Profile,
    ) -> SessionRow:
        self._tx.session_name = id
        version = (self._tx.value(COUNTED, name=FLOOR) or 0) + 1
        row = new_row(number, id, self._tx.add("home"), now, version, kind)
        values = row._asdict() | {"key": key_of(owner, id)}
        del values["number"], values["edited"]
        values |= written_at(self._tx.now()) | {"state": profile.state}
        row = row._replace(number=self._tx.add("session", **values))
        self._tx.add("profile", session=row.number, **profile._asdict())
        put_tags(self._tx, number, row.number, profile.tags)
        return row

    def put_profile(self, session: SessionRow, columns: Mapping[str, Any]) -> None:
        self._tx.run(_PUT_PROFILE, of_session=session.number, **columns)

    def change(
        self,
        session: SessionRow,
        columns: Mapping[str, Any],
        closed: bool | None,
        active_us: int | None,
    ) -> None:
        if columns:
            self.put_profile(session, columns)
        if "tags" in columns:
            self._tx.run(_DELETE_TAGS, session=session.number)
            put_tags(self._tx, session.owner, session.number, columns["tags"])
        figures = {"version": session.version + 1} | written_at(self._tx.now())
        if "state" in columns:
            figures["state"] = columns["state"]
        if closed is not None:
            figures["closed"] = int(closed)
        if active_us is not None:
            figures |= {"active_at": active_us, "active_s": active_us // 1_000_000}
        self._tx.run(put_session, of_number=session.number, **figures)

    def tell(self, session: SessionRow) -> None:
        record_changes(self._tx, session, KIND_RECORD, [session.version], session.id)

    def held(self, session: SessionRow, column: Literal["attributes", "system"]) -> bytes:
        found: bytes = self._tx.value(_HELD[column], session=session.number) or NOTHING
        return found

    def place(self, session: SessionRow) -> None:
        figures = {key: getattr(session, key) for key in _PLACE} | written_at(self._tx.now())
        self._tx.run(put_session, of_number=session.number, ends=0, **figures)

    def empty(self, session: SessionRow) -> None:
        home = self._tx.add("home")
        emptied = {"tip": 0, "ends": 0, "running": 0, "fork": 0, "context": 0, "messages": 0}
        emptied |= {"has_data": 0} | written_at(self._tx.now())
        self._tx.run(
            put_session,
            of_number=session.number,
            home=home,
            tree=home,
            overlays=0,
            version=session.version + 1,
            **emptied,
        )
        self._tx.run(_delete_leases, owner=session.owner, session=session.number)

    def delete(self, session: SessionRow) -> None:
        if not self._tx.run(_raise_floor, reached=session.version):
            # It is as high; or it is not there, since somebody emptied the tables.
            begin_floor(self._tx, session.version)
        self._tx.run(_DELETE_SESSION, number=session.number)
        for statement in (_DELETE_PROFILE, _DELETE_TAGS, _DELETE_USAGE):
            self._tx.run(statement, session=session.number)
        self._tx.run(_DELETE_DOCUMENTS, owner=session.owner, session=session.number)

    def lock_owner(self, name: str) -> int | None:
        self._tx.lock_owner(name, shared=False)
        return find_owner(self._tx, name)

    def lock_some(self, owner: str, number: int, most: int) -> list[SessionRow | None]:
        lookup = SqlLookupStatements(self._tx)
        ids = [id for (id,) in self._tx.rows(_some, owner=number, most=most)]
        return [lookup.lock_session(owner, id, Touches.NOTHING) for id in ids]

    def erase_rest(self, owner: int) -> None:
        for statement in _ERASE_REST:
            self._tx.run(statement, owner=owner)
        self._tx.run(_ERASE_OWNER, number=owner)

    def count(self, owner: int, now: int) -> RecordRow:
        messages = int(self._tx.value(_count_messages, owner=owner))
        messages += self._tx.value(_count_left_behind, owner=owner)
        overlays = self._tx.value(_count_overlays, owner=owner)
        return messages, overlays, self._tx.value(_count_documents, owner=owner, now=now)

    def count_sessions(self, owner: int) -> list[RecordRow]:
        return [tuple(row) for row in self._tx.rows(_count_sessions, owner=owner)]


def _raise_floor(t: Tables) -> Any:
    c, reached = t.counter.c, bindparam("reached", type_=BigInteger)
    lower = and_(c.name == FLOOR, c.value < reached)
    return update(t.counter).where(lower).values(value=reached)


def _record(t: Tables) -> Any:
    return records(t).where(t.session.c.key == bindparam("key"))


def _delete_leases(t: Tables) -> Any:
    d = t.document.c
    gone = or_(d.key == PINS_KEY, d.expires_at.is_not(None), d.inherit == 0)
    return _DELETE_DOCUMENTS(t).where(gone)


def _some(t: Tables) -> Any:
    """Return some of an owner's sessions, in the order in which trees are locked."""
    s = t.session.c
    wanted = select(s.id).where(s.owner == bindparam("owner"))
    return wanted.order_by(s.tree, s.number).limit(bindparam("most"))


def _count_sessions(t: Tables) -> Any:
    s, p = t.session.c, t.profile.c
    joined = t.session.join(t.profile, p.session == s.number)
    counted = select(s.kind, p.state, func.count()).select_from(joined)
    return counted.where(s.owner == bindparam("owner")).group_by(s.kind, p.state)


def _count_messages(t: Tables) -> Any:
    s = t.session.c
    messages = cast(func.coalesce(func.sum(s.messages), 0), BigInteger)
    return select(messages).where(s.owner == bindparam("owner"), s.kind == CHAT)


def _count_left_behind(t: Tables) -> Any:
    """Count what sessions still see of homes that are gone."""
    s, i, m = t.session.c, t.inherited.c, t.message.c
    writer = t.session.alias("writer")
    gone = (
        select(i.home)
        .distinct()
        .select_from(t.session.join(t.inherited, i.session == s.number))
        .where(s.owner == bindparam("owner"), ~exists().where(writer.c.home == i.home))
        .subquery("gone")
    )
    joined = gone.join(t.message, m.home == gone.c.home)
    return select(func.count()).select_from(joined).where(m.body.is_not(None))


def _count_overlays(t: Tables) -> Any:
    s, f = t.session.c, t.in_force.c
    return (
        select(func.count(f.overlay.distinct()))
        .select_from(t.session.join(t.in_force, f.session == s.number))
        .where(s.owner == bindparam("owner"))
    )


def _count_documents(t: Tables) -> Any:
    d = t.document.c
    return select(func.count()).where(
        d.owner == bindparam("owner"),
        or_(d.expires_at.is_(None), d.expires_at > bindparam("now")),
    )
