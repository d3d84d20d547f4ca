"""Work on sessions: make, find, change, move, retire."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from sqlalchemy import bindparam, cast, delete, exists, func, or_, select, update
from sqlalchemy.types import BigInteger

from ...errors import AlreadyExistsError, StaleVersionError
from ...model import (
    NewSession,
    Root,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
)
from ...rules.codec import encode_json
from ..relational.pins import PINS_KEY
from ..relational.rows import SessionRow, Touches
from . import listing
from .appending import put_session
from .forking import fork_session
from .lookup import find_owner, find_session, get_pos, get_session, key_of, own_number
from .rows import CONTEXT_IN_RECORD, pack_tags, record_of, records
from .sums import context_at
from .sweep import retire
from .tables import Tables
from .tx import Tx


class SqlSessions:
    """Work on sessions."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def create(self, owner: str, new: NewSession) -> SessionRecord:
        """Create a session."""
        number = own_number(self._tx, owner)
        if self._tx.row(_exists, key=key_of(owner, new.id)) is not None:
            raise AlreadyExistsError(f"there is a session {new.id!r} already: open that one")
        if new.parent is not None:
            get_session(self._tx, owner, new.parent.session)
        source = None
        if new.fork is not None:
            source = get_session(self._tx, owner, new.fork.session)
        self._tx.session_name = new.id
        row = self._insert(owner, number, new)
        self._insert_profile(row.number, new, source)
        if new.fork is not None and source is not None:
            fork_session(self._tx, row, source, new.fork)
        return self._get(owner, new.id)

    def _insert(self, name: str, owner: int, new: NewSession) -> SessionRow:
        now = self._tx.now() if new.created_us is None else new.created_us
        home = self._tx.add("home")
        row = SessionRow(
            number=0,
            owner=owner,
            id=new.id,
            home=home,
            tree=home,
            tip=0,
            fork=0,
            context=0,
            messages=0,
            overlays=0,
            version=1,
            created_at=now,
            active_at=now,
            active_s=now // 1_000_000,
        )
        values = row._asdict() | {"key": key_of(name, new.id)}
        del values["number"], values["edited"]
        self._tx.know_home(home, new.id)
        return row._replace(number=self._tx.add("session", **values))

    def _insert_profile(self, number: int, new: NewSession, source: SessionRow | None) -> None:
        tags, budget, data = b"", None, b"{}"
        kind, parent = None, None
        if source is not None:
            tags, budget, data = self._tx.row(_inherited_profile, session=source.number)
            kind, parent = "branch", source.id
        if new.parent is not None:
            kind, parent = new.parent.kind.value, new.parent.session
        self._tx.add(
            "profile",
            session=number,
            title=None if new.title is None else new.title.encode(),
            state=new.state,
            tags=tags if new.tags is UNSET else pack_tags(new.tags),
            budget=budget if new.budget is UNSET else new.budget,
            parent_kind=kind,
            parent=parent,
            data=data if new.data is UNSET else encode_json(new.data, "data"),
        )

    def find(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record."""
        is_enough, record = self.glance(owner, session)
        if is_enough:
            return record
        row = get_session(self._tx, owner, session)
        context = context_at(self._tx, row, row.tip)
        assert context is not None
        return record_of(self._tx.row(_record, key=key_of(owner, session)), context)

    def glance(self, owner: str, session: str) -> tuple[bool, SessionRecord | None]:
        """Find a record with one statement; tell whether that was enough."""
        found = self._tx.row(_record, key=key_of(owner, session))
        if found is None:
            return True, None
        context = found[CONTEXT_IN_RECORD]
        return (False, None) if context is None else (True, record_of(found, context))

    def _get(self, owner: str, session: str) -> SessionRecord:
        found = self.find(owner, session)
        assert found is not None
        return found

    def update(
        self, owner: str, session: str, patch: SessionPatch, expected_version: int | None
    ) -> SessionRecord:
        """Change a session's record."""
        row = get_session(self._tx, owner, session)
        if expected_version is not None and row.version != expected_version:
            raise StaleVersionError(
                f"session {session!r} is at version {row.version}, not {expected_version}: "
                "read it again, then decide"
            )
        values = _assignments(patch)
        if values:
            self._tx.run(_put_profile, of_session=row.number, **values)
        self._tx.run(put_session, of_number=row.number, version=row.version + 1)
        return self._get(owner, session)

    def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord:
        """Move the tip."""
        row = get_session(self._tx, owner, session)
        pos = get_pos(self._tx, row, message)
        context = context_at(self._tx, row, pos)
        self._tx.run(put_session, of_number=row.number, tip=pos, ends=0, context=context)
        return self._get(owner, session)

    def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        """List sessions."""
        return listing.list_page(self._tx, owner, query, self._get)

    def delete(self, owner: str, session: str) -> None:
        """Delete a session; its messages are left to be swept."""
        self._delete(get_session(self._tx, owner, session, Touches.CHANGES))

    def _delete(self, row: SessionRow) -> None:
        retire(self._tx, row)
        for statement in (_delete_session, _delete_profile, _delete_usage):
            self._tx.run(statement, number=row.number)
        self._tx.run(_delete_documents, owner=row.owner, session=row.number)

    def clear(self, owner: str, session: str) -> SessionRecord:
        """Retire a session's messages and go on under a new number."""
        row = get_session(self._tx, owner, session, Touches.CHANGES)
        retire(self._tx, row)
        home = self._tx.add("home")
        emptied = {"tip": 0, "ends": 0, "running": 0, "fork": 0, "context": 0, "messages": 0}
        self._tx.run(
            put_session,
            of_number=row.number,
            home=home,
            tree=home,
            overlays=0,
            version=row.version + 1,
            **emptied,
        )
        self._tx.run(_delete_leases, owner=row.owner, session=row.number)
        self._tx.know_home(home, session)
        return self._get(owner, session)

    def erase_owner(self, owner: str) -> None:
        """Delete all that an owner has; whoever writes for it meanwhile waits."""
        self._tx.lock_owner(owner, shared=False)
        number = find_owner(self._tx, owner)
        if number is None:
            return
        for (name,) in self._tx.rows(_names, owner=number):
            row = find_session(self._tx, owner, name)
            # It may be deleted by now: nobody's lock was waited for yet.
            if row is not None:
                self._delete(row)
        for statement in (_erase_documents, _erase_readers, _erase_changes, _erase_owner):
            self._tx.run(statement, owner=number)

    def statistics(self, owner: str) -> Statistics:
        """Count what an owner has."""
        number = find_owner(self._tx, owner)
        sessions, messages = self._tx.row(_count_sessions, owner=number)
        return Statistics(
            sessions=sessions,
            messages=int(messages) + self._tx.value(_count_left_behind, owner=number),
            overlays=self._tx.value(_count_overlays, owner=number),
            documents=self._tx.value(_count_documents, owner=number, now=self._tx.now()),
        )


def _assignments(patch: SessionPatch) -> dict[str, Any]:
    """Give the columns that a patch changes."""
    title = patch.title
    values = {
        "title": title.encode() if isinstance(title, str) else title,
        "state": patch.state,
        "budget": patch.budget,
        "tags": UNSET if patch.tags is UNSET else pack_tags(patch.tags),
        "data": UNSET if patch.data is UNSET else encode_json(patch.data, "data"),
    }
    return {key: value for key, value in values.items() if value is not UNSET}


def _exists(t: Tables) -> Any:
    return select(t.session.c.number).where(t.session.c.key == bindparam("key"))


def _record(t: Tables) -> Any:
    return records(t).where(t.session.c.key == bindparam("key"))


def _inherited_profile(t: Tables) -> Any:
    p = t.profile.c
    return select(p.tags, p.budget, p.data).where(p.session == bindparam("session"))


def _put_profile(t: Tables) -> Any:
    return update(t.profile).where(t.profile.c.session == bindparam("of_session"))


def _delete_session(t: Tables) -> Any:
    return delete(t.session).where(t.session.c.number == bindparam("number"))


def _delete_profile(t: Tables) -> Any:
    return delete(t.profile).where(t.profile.c.session == bindparam("number"))


def _delete_usage(t: Tables) -> Any:
    return delete(t.usage).where(t.usage.c.session == bindparam("number"))


def _delete_documents(t: Tables) -> Any:
    d = t.document.c
    return delete(t.document).where(
        d.owner == bindparam("owner"), d.session == bindparam("session")
    )


def _delete_leases(t: Tables) -> Any:
    d = t.document.c
    return _delete_documents(t).where(or_(d.key == PINS_KEY, d.expires_at.is_not(None)))


def _names(t: Tables) -> Any:
    s = t.session.c
    return select(s.id).where(s.owner == bindparam("owner")).order_by(s.tree, s.number)


def _erase_documents(t: Tables) -> Any:
    return delete(t.document).where(t.document.c.owner == bindparam("owner"))


def _erase_readers(t: Tables) -> Any:
    return delete(t.reader).where(t.reader.c.owner == bindparam("owner"))


def _erase_changes(t: Tables) -> Any:
    return delete(t.change).where(t.change.c.owner == bindparam("owner"))


def _erase_owner(t: Tables) -> Any:
    return delete(t.owner).where(t.owner.c.number == bindparam("owner"))


def _count_sessions(t: Tables) -> Any:
    s = t.session.c
    messages = cast(func.coalesce(func.sum(s.messages), 0), BigInteger)
    return select(func.count(), messages).where(s.owner == bindparam("owner"))


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
