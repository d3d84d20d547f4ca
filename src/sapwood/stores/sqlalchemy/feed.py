"""The change feed, in commit order within a session.

An append is found by the number that its message was given; edits, deletions, retired sessions and
changed records are rows of their own, which follow the newest message that there was. Such a row is
written under its owner's lock, and read up to numbers below which all is committed (see locks.py):
so a cursor, a message's number and a row's after it, never passes a change that is yet to come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, func, literal, or_, select

from ...model import Change
from ..base.feed_age import KEPT_AT_LEAST_US, KEPT_AT_MOST_US
from ..relational._sync.feed import NO_BOUND, FeedStatements
from ..relational.changes import FeedCursor, change_of, record_change_of
from ..relational.rows import (
    KIND_APPEND,
    KIND_DELETE,
    KIND_RECORD,
    KIND_RETIRE,
    MARK,
    SessionRow,
)
from .lookup import find_owner
from .tables import Tables
from .tx import ResultRow, Tx, delete_by, select_by, update_by

_READER = select_by("reader", "owner", "name", of=["seq"])
_READERS = select_by("reader", "owner", of=["name", "seq", "change"])
_TRIMMED = select_by("owner", "number", of=["trimmed", "trimmed_change"])
_DROP_READER = delete_by("reader", "owner", "name")
_TRIM = delete_by("change", "number")
_PUT_TRIMMED = update_by("owner", "number")
_MOVE_READER = update_by("reader", "owner", "name")


def newest(tx: Tx, owner: int | None) -> int:
    """Return the newest number in an owner's feed, also when what had it is gone by now."""
    return max(int(it or 0) for it in tx.row(_newest, owner=owner) or (0,))


def record_changes(
    tx: Tx, session: SessionRow, kind: int, positions: Sequence[int], name: str | None = None
) -> None:
    """Note what this unit of work did to messages; the owner is locked, by others, too, or not.

    In place of positions, a session's record has its version.
    """
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


def bound_of(tx: Tx, owner: str) -> FeedCursor:
    """Wait for an owner's writers; return the numbers up to which all is committed.

    They are of messages and of rows; a row that is added later has a higher one than any before.
    """
    if tx.kind == "sqlite":
        return NO_BOUND
    number = find_owner(tx, owner)
    tx.lock_owner(owner, shared=False)
    return newest(tx, number), int(tx.value(_newest_row) or 0)


class SqlFeedStatements(FeedStatements[Tx]):
    """Statements about the feed.

    A cursor is the last message that was read, and the last of the other changes after it.
    """

    beginning = (0, 0)

    def is_lost(self, owner: int | None, cursor: FeedCursor) -> tuple[bool, bool]:
        found = self._tx.row(_standing, owner=owner) or (0, 0, 0, 0, 0)
        seq, change, message, after, number = (it or 0 for it in found)
        is_ahead = cursor[0] > max(seq, message, after) or cursor[1] > max(change, number)
        return is_ahead, cursor < (seq, change)

    def after(
        self, owner: int | None, cursor: FeedCursor, most: int, bound: FeedCursor
    ) -> Iterator[tuple[FeedCursor, Change | None]]:
        page = self._page(owner, cursor, most, bound)
        yield from page
        while len(page) == most:
            page = self._page(owner, page[-1][0], most, bound)
            yield from page

    def _page(
        self, owner: int | None, cursor: FeedCursor, most: int, bound: FeedCursor
    ) -> list[tuple[FeedCursor, Change | None]]:
        last, last_change = bound
        args = {"owner": owner, "seq": cursor[0], "bound": last, "most": most}
        merged: list[tuple[FeedCursor, Change | None]] = []
        for seq, home, *rest in self._tx.rows(_appended, **args):
            told = None if home is None else change_of(KIND_APPEND, home, *rest)
            merged.append(((seq, 0), told))
        changed = self._tx.rows(_changed, **args, change=cursor[1], last_change=last_change)
        merged += [((row[0], row[1]), _change(row)) for row in changed]
        return sorted(merged, key=lambda it: it[0])[:most]

    def newest(self, owner: int) -> FeedCursor:
        seq = newest(self._tx, owner)
        at_seq = self._tx.value(_newest_change, owner=owner, after=seq)
        trimmed, change = self._tx.row(_TRIMMED, number=owner)
        return max((seq, int(at_seq or 0)), (trimmed, change))

    def drop_reader(self, owner: int, reader: str) -> bool:
        return bool(self._tx.run(_DROP_READER, owner=owner, name=reader))

    def put_reader(self, owner: int, reader: str, cursor: FeedCursor) -> None:
        values = dict(zip(("seq", "change"), cursor, strict=True))
        is_moved = self._tx.run(_MOVE_READER, of_owner=owner, of_name=reader, **values)
        # A driver may not count a row that is as it was.
        if not is_moved and not self._tx.row(_READER, owner=owner, name=reader):
            self._tx.add("reader", owner=owner, name=reader, **values)


def _change(row: ResultRow) -> Change | None:
    _, _, kind, tree, pos, at, name, actor, id, version, home = row
    if kind in (KIND_RETIRE, KIND_RECORD):
        return record_change_of(kind, name, tree, pos, at)
    # A message whose home is gone is only heard of again when another session deletes it.
    session = home or (actor if kind == KIND_DELETE else None)
    if session is None or id is None:
        return None
    return change_of(kind, session, id, tree, pos, version, at)


def trim_feed(tx: Tx) -> None:
    """Remove what every registered reader has seen and is old enough, but for messages."""
    for owner, name in tx.rows(_owners):
        rows = tx.rows(_old, owner=owner, before=tx.now() - KEPT_AT_LEAST_US)
        if not rows:
            continue
        # First of all: a reader that registers meanwhile would lose what it is to be kept.
        tx.lock_owner(name, shared=False)
        limit = _slowest_reader(tx, owner)
        gone = [tuple(row) for row in rows if tuple(row) <= limit]
        if not gone:
            continue
        seq, last = max(gone)
        tx.run_many(_TRIM, [{"number": number} for _, number in gone])
        tx.run(_PUT_TRIMMED, of_number=owner, trimmed=seq, trimmed_change=last)


def _slowest_reader(tx: Tx, owner: int) -> FeedCursor:
    """Return the cursor of the slowest reader, once those are forgotten that are lost."""
    too_old = tx.rows(_old, owner=owner, before=tx.now() - KEPT_AT_MOST_US)
    last = max((tuple(row) for row in too_old), default=(0, 0))
    slowest = NO_BOUND
    for reader, *cursor in tx.rows(_READERS, owner=owner):
        if tuple(cursor) < last:
            tx.run(_DROP_READER, owner=owner, name=reader)
        else:
            slowest = min(slowest, tuple(cursor))
    return slowest


def _newest(t: Tables) -> Any:
    """Ask for an owner's newest numbers: of messages, of what follows them, of what was trimmed."""
    numbers = newest_message(t).scalar_subquery(), newest_after(t).scalar_subquery()
    return select(t.owner.c.trimmed, *numbers).where(t.owner.c.number == bindparam("owner"))


def _newest_row(t: Tables) -> Any:
    """Ask for the newest number of any owner's: that takes a look at one end of the table."""
    return select(func.max(t.change.c.number))


def _newest_change(t: Tables) -> Any:
    c = t.change.c
    return select(func.max(c.number)).where(
        c.owner == bindparam("owner"), c.after == bindparam("after")
    )


def newest_message(t: Tables) -> Any:
    """Ask for the number of an owner's newest message."""
    m = t.message.c
    return select(func.max(m.seq)).where(m.owner == bindparam("owner"))


def newest_after(t: Tables) -> Any:
    """Ask for the newest number that another change follows."""
    c = t.change.c
    return select(func.max(c.after)).where(c.owner == bindparam("owner"))


def _standing(t: Tables) -> Any:
    """Ask how far an owner's feed was trimmed, and for its newest numbers, all at once."""
    o = t.owner.c
    return select(
        o.trimmed,
        o.trimmed_change,
        newest_message(t).scalar_subquery(),
        newest_after(t).scalar_subquery(),
        _newest_row(t).scalar_subquery(),
    ).where(o.number == bindparam("owner"))


def _appended(t: Tables) -> Any:
    m, s = t.message.c, t.session.c
    return (
        select(m.seq, s.id.label("home_id"), m.id, m.tree, m.pos, m.version, m.created_at)
        .select_from(t.message.outerjoin(t.session, s.home == m.home))
        .where(
            m.owner == bindparam("owner"),
            m.seq > bindparam("seq"),
            m.seq <= bindparam("bound"),
            or_(m.body.is_not(None), m.role != literal(MARK, m.role.type)),
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
    columns = [c.after, c.number, c.kind, c.tree, c.pos, c.at, c.name]
    of_message = [m.id.label("message_id"), m.version]
    seq = bindparam("seq", type_=c.after.type)
    return (
        select(*columns, actor.c.id.label("actor_id"), *of_message, home.c.id)
        .select_from(joined)
        .where(
            c.owner == bindparam("owner"),
            c.after <= bindparam("bound"),
            c.number <= bindparam("last_change"),
            or_(c.after > seq, and_(c.after == seq, c.number > bindparam("change"))),
        )
        .order_by(c.after, c.number)
        .limit(bindparam("most"))
    )


def _owners(t: Tables) -> Any:
    return select(t.owner.c.number, t.owner.c.name).order_by(t.owner.c.number)


def _old(t: Tables) -> Any:
    c = t.change.c
    return select(c.after, c.number).where(
        c.owner == bindparam("owner"), c.at < bindparam("before")
    )
