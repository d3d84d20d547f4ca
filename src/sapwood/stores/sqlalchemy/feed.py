"""The change feed, in commit order within a session.

An append is found by the number that its message was given; edits, deletions and retired sessions
are rows of their own, which follow the newest message that there was. Such a row is written while
nobody appends for its owner, and read up to a number below which all is committed (see locks.py):
so a cursor, a message's number and a row's after it, never passes a change that is yet to come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from ...errors import NotFoundError, UsageError
from ...model import Change, ChangeKind, Changes
from ..base.refusals import cursor_ahead
from .lookup import find_owner, own_number
from .position import MAX_DEPTH
from .rows import SessionRow
from .tables import Tables
from .tx import Row, Tx

KIND_UPDATE, KIND_DELETE, KIND_RETIRE = range(2, 5)
KEPT_AT_LEAST_US = 24 * 3600 * 1_000_000

_KINDS = {KIND_UPDATE: ChangeKind.UPDATE, KIND_DELETE: ChangeKind.DELETE}
_NO_BOUND = 2**62


def newest(tx: Tx, owner: int | None) -> int:
    """Give the newest number in an owner's feed, also when what had it is gone by now."""
    found = (tx.value(it, owner=owner) or 0 for it in (_newest_message, _newest_after, _trimmed))
    return int(max(found))


def record_changes(
    tx: Tx, session: SessionRow, kind: int, positions: Sequence[int], name: str | None = None
) -> None:
    """Note what this unit of work did to messages; the owner is locked."""
    after = newest(tx, session.owner)
    now = tx.now()
    for pos in positions:
        tx.add(
            "change",
            owner=session.owner,
            after=after,
            session=session.number,
            tree=session.tree,
            kind=kind,
            pos=pos,
            at=now,
            name=name,
        )


class Cursor(NamedTuple):
    """The last message of the feed that was read, and the last of the other changes after it."""

    seq: int
    change: int

    @classmethod
    def read(cls, text: str) -> Cursor:
        """Read a cursor that was given out; the empty one is the beginning."""
        parts = (text or "0.0").split(".")
        if not (len(parts) == 2 and all(_is_number(part) for part in parts)):
            raise UsageError(f"{text!r} is not a cursor of this feed", path="after")
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return f"{self.seq}.{self.change}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


class SqlFeed:
    """Work on the change feed."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def bound(self, owner: str) -> int:
        """Wait for the owner's writers; give the number up to which all is committed."""
        if self._tx.kind == "sqlite":
            return _NO_BOUND
        number = find_owner(self._tx, owner)
        self._tx.lock_owner(owner, shared=False)
        return newest(self._tx, number)

    def changes(self, owner: str, after: str, limit: int, bound: int = _NO_BOUND) -> Changes:
        """Read a page, up to a number below which all is committed."""
        cursor = Cursor.read(after)
        number = find_owner(self._tx, owner)
        self._refuse_lost(number, cursor)
        found: list[Change] = []
        for place, change in self._after(number, cursor, limit + 1, bound):
            if len(found) == limit:
                return Changes(changes=found, cursor=str(cursor), more=True)
            cursor = place
            if change is not None:
                found.append(change)
        return Changes(changes=found, cursor=str(cursor), more=False)

    def _after(
        self, owner: int | None, cursor: Cursor, most: int, bound: int
    ) -> Iterator[tuple[Cursor, Change | None]]:
        """Give what follows a cursor, a page at a time, each with the cursor after it."""
        while True:
            page = self._page(owner, cursor, most, bound)
            yield from page
            if len(page) < most:
                return
            cursor = page[-1][0]

    def _page(
        self, owner: int | None, cursor: Cursor, most: int, bound: int
    ) -> list[tuple[Cursor, Change | None]]:
        args = {"owner": owner, "seq": cursor.seq, "bound": bound, "most": most}
        appended = self._tx.rows(_appended, **args)
        changed = self._tx.rows(_changed, **args, change=cursor.change)
        merged = [(Cursor(row[0], 0), self._append(row)) for row in appended]
        merged += [(Cursor(row[0], row[1]), self._change(row)) for row in changed]
        return sorted(merged, key=lambda it: it[0])[:most]

    def _append(self, row: Row) -> Change | None:
        _, id, pos, home, at = row
        if home is None:
            return None
        depth = pos & MAX_DEPTH
        return Change(kind=ChangeKind.APPEND, session=home, message=id, depth=depth, at_us=at)

    def _change(self, row: Row) -> Change | None:
        _, _, kind, pos, at, name, actor, id, home = row
        if kind == KIND_RETIRE:
            retired = ChangeKind.RETIRE
            return Change(kind=retired, session=name, message=None, depth=None, at_us=at)
        # A message whose home is gone is only heard of again when another session deletes it.
        session = home or (actor if kind == KIND_DELETE else None)
        if session is None or id is None:
            return None
        depth = pos & MAX_DEPTH
        return Change(kind=_KINDS[kind], session=session, message=id, depth=depth, at_us=at)

    def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""
        cursor = Cursor.read(after)
        number = own_number(self._tx, owner)
        self._refuse_lost(number, cursor)
        values = {"seq": cursor.seq, "change": cursor.change}
        key = {"of_owner": number, "of_name": reader}
        if self._tx.run(_move_reader, **key, **values) or self._tx.row(_reader, **key):
            # A driver may not count a row that is as it was.
            return
        self._tx.add("reader", owner=number, name=reader, **values)

    def _refuse_lost(self, owner: int | None, cursor: Cursor) -> None:
        if cursor == Cursor(0, 0):
            return
        found = self._tx.row(_standing, owner=owner) or (0, 0, 0, 0, 0)
        seq, change, message, after, number = (it or 0 for it in found)
        if cursor.seq > max(seq, message, after) or cursor.change > max(change, number):
            raise cursor_ahead(cursor)
        if cursor < Cursor(seq, change):
            raise NotFoundError(
                f"the feed was trimmed after cursor {cursor}: read everything again, "
                "and name a reader to keep it",
                kind="cursor",
                id=str(cursor),
            )


def trim_feed(tx: Tx) -> None:
    """Remove what every registered reader has seen and is old enough, but for messages."""
    for owner, name in tx.rows(_owners):
        rows = tx.rows(_old, owner=owner, before=tx.now() - KEPT_AT_LEAST_US)
        if not rows:
            continue
        # First of all: a reader that registers meanwhile would lose what it is to be kept.
        tx.lock_owner(name, shared=False)
        readers = [Cursor(*row) for row in tx.rows(_readers, owner=owner)]
        limit = min(readers, default=Cursor(_NO_BOUND, 0))
        gone = [Cursor(*row) for row in rows if Cursor(*row) <= limit]
        if not gone:
            continue
        last = max(gone)
        tx.run_many(_trim, [{"number": it.change} for it in gone])
        tx.run(_put_trimmed, of_number=owner, trimmed=last.seq, trimmed_change=last.change)


def _newest_message(t: Tables) -> Any:
    m = t.message.c
    return select(func.max(m.seq)).where(m.owner == bindparam("owner"))


def _newest_after(t: Tables) -> Any:
    c = t.change.c
    return select(func.max(c.after)).where(c.owner == bindparam("owner"))


def _standing(t: Tables) -> Any:
    """Ask how far an owner's feed was trimmed, and for its newest numbers, all at once."""
    o, c = t.owner.c, t.change.c
    newest_change = select(func.max(c.number)).where(c.owner == bindparam("owner"))
    return select(
        o.trimmed,
        o.trimmed_change,
        _newest_message(t).scalar_subquery(),
        _newest_after(t).scalar_subquery(),
        newest_change.scalar_subquery(),
    ).where(o.number == bindparam("owner"))


def _appended(t: Tables) -> Any:
    m, s = t.message.c, t.session.c
    return (
        select(m.seq, m.id, m.pos, s.id.label("home_id"), m.created_at)
        .select_from(t.message.outerjoin(t.session, s.home == m.home))
        .where(
            m.owner == bindparam("owner"),
            m.seq > bindparam("seq"),
            m.seq <= bindparam("bound"),
        )
        .order_by(m.seq)
        .limit(bindparam("most"))
    )


def _changed(t: Tables) -> Any:
    c, m = t.change.c, t.message.c
    home, actor = t.session.alias("home_session"), t.session.alias("actor")
    joined = (
        t.change.outerjoin(t.message, and_(m.tree == c.tree, m.pos == c.pos))
        .outerjoin(home, home.c.home == m.home)
        .outerjoin(actor, actor.c.number == c.session)
    )
    columns = [c.after, c.number, c.kind, c.pos, c.at, c.name]
    seq = bindparam("seq", type_=c.after.type)
    return (
        select(*columns, actor.c.id.label("actor_id"), m.id.label("message_id"), home.c.id)
        .select_from(joined)
        .where(
            c.owner == bindparam("owner"),
            c.after <= bindparam("bound"),
            or_(c.after > seq, and_(c.after == seq, c.number > bindparam("change"))),
        )
        .order_by(c.after, c.number)
        .limit(bindparam("most"))
    )


def _move_reader(t: Tables) -> Any:
    r = t.reader.c
    return update(t.reader).where(r.owner == bindparam("of_owner"), r.name == bindparam("of_name"))


def _reader(t: Tables) -> Any:
    r = t.reader.c
    return select(r.seq).where(r.owner == bindparam("of_owner"), r.name == bindparam("of_name"))


def _trimmed(t: Tables) -> Any:
    o = t.owner.c
    return select(o.trimmed, o.trimmed_change).where(o.number == bindparam("owner"))


def _owners(t: Tables) -> Any:
    return select(t.owner.c.number, t.owner.c.name).order_by(t.owner.c.number)


def _readers(t: Tables) -> Any:
    r = t.reader.c
    return select(r.seq, r.change).where(r.owner == bindparam("owner"))


def _old(t: Tables) -> Any:
    c = t.change.c
    return select(c.after, c.number).where(
        c.owner == bindparam("owner"), c.at < bindparam("before")
    )


def _trim(t: Tables) -> Any:
    return delete(t.change).where(t.change.c.number == bindparam("number"))


def _put_trimmed(t: Tables) -> Any:
    return update(t.owner).where(t.owner.c.number == bindparam("of_number"))
