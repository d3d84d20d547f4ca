"""Reading with one statement, which is its own snapshot: what nearly every read is.

That is a read up to a session's tip, on a path that lies in one segment of its own as far as it is
asked for, without overlays. Whatever else there may be is found out from the same statement's
answer: after the messages comes a row about the session, the head, which has no body.

What a driver spends on rows is spent on each column. MariaDB's are written in Python and take every
value apart by itself: for them the figures and names of a row are one column, which is as fast as a
driver by hand that reads the half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    null,
    select,
    true,
    type_coerce,
    union_all,
)
from sqlalchemy.types import LargeBinary, NullType

from ...errors import StoreCorruptError
from ...model import ROOT, Entry, History, Read
from ...rules.tree import refuse_missing
from ..base.refusals import no_session
from ..relational.bodiless import without_body
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from ..relational.rows import message_of
from .direct import number
from .lookup import key_of, message_columns
from .tables import Tables
from .tx import ResultRow, Tx

NO_LIMIT = 2**40

_MARK = b"\x1f"
"""Stands between the packed values of a row: no name has a control character."""


def read_quickly(tx: Tx, owner: str, session: str, query: Read) -> History | None:
    """Read a path; None when it takes more than this."""
    if query.leaf is not None or query.max_bytes is not None:
        return None
    values_of = _packed_values if tx.kind == "mysql" else _plain_values
    limit = NO_LIMIT if query.limit is None else query.limit
    most = limit + 1
    while True:
        rows = _rows(tx, owner, session, query, most)
        head = values_of(rows.pop())
        live = [row for row in rows if row[-1] is not None]
        more = len(live) > limit
        if more or len(rows) < most:
            break
        # Some of them were deleted, and do not count.
        most += len(rows) - len(live)
    # A context of None says that this is not enough, as does an end that was not reached.
    tip, context, snapshot, parent, _, tip_id = head
    top = (parent or 0) & MAX_DEPTH
    if context is None or (query.after < top and not (query.backwards and more)):
        return None
    stopped_at = values_of(rows[-1])[0] & MAX_DEPTH if len(rows) == most else None
    first, last = _gone_over(query, top, tip & MAX_DEPTH, stopped_at)
    if len(rows) < last - first + 1:
        depths = sorted(values_of(row)[0] & MAX_DEPTH for row in rows)
        refuse_missing(((depth, depth) for depth in depths), first, last, session)
    shown = live[:limit]
    if query.backwards:
        shown.reverse()
    entries: list[Entry] = []
    for row in shown:
        pos, tokens, version, created_at, role, id = values_of(row)
        kept = pos, None, id, role, tokens, version, created_at, row[-1]
        entries.append(message_of(kept if query.bodies else without_body(kept), session))
    if tip and tip_id is None:
        raise StoreCorruptError("the message at a session's tip is missing")
    place = tip_id if tip else ROOT
    return History(
        entries=entries,
        leaf=place,
        tip=place,
        context_tokens=context,
        more=more,
        bytes=sum([len(row[-1]) if query.bodies else row[-1] for row in shown]),
        snapshot=str(snapshot or 0),
    )


def _rows(tx: Tx, owner: str, session: str, query: Read, most: int) -> list[ResultRow]:
    """Read so many rows of messages, deleted ones too, and the head."""
    asked = {
        "key": key_of(owner, session),
        "after": query.after,
        "before": MAX_DEPTH + 1 if query.before is None else query.before,
        "most": most,
    }
    rows = list(tx.direct(_path, query.backwards, query.bodies).run(tx.conn, asked).all())
    if not rows or rows[-1][-1] is not None:
        raise no_session(session)
    return rows


def _gone_over(query: Read, top: int, tip: int, stopped_at: int | None) -> tuple[int, int]:
    """Return the depths that a read went over in the tip's segment, both included."""
    first = max(query.after, top) + 1
    last = tip if query.before is None else min(tip, query.before - 1)
    if stopped_at is None:
        return first, last
    return (stopped_at, last) if query.backwards else (first, stopped_at)


def _plain_values(row: ResultRow) -> Sequence[Any]:
    found: Sequence[Any] = row[:-1]
    return found


def _packed_values(row: ResultRow) -> Sequence[Any]:
    first, second, third, fourth, *names = row[0].split(_MARK)
    return (
        int(first) if first else None,
        int(second) if second else None,
        int(third) if third else None,
        int(fourth) if fourth else None,
        *[name.decode() or None for name in names],
    )


def _columns(kind: str, values: Sequence[Any], body: Any, *, is_full: bool) -> list[Any]:
    """Return the columns of a row: four numbers, names, and a body."""
    body = type_coerce(body, NullType())
    if kind != "mysql":
        return [*values, body]
    # What is nothing would be left out, and not be an empty text.
    given = values if is_full else [func.coalesce(it, literal_column("''")) for it in values]
    packed = cast(func.concat_ws(literal_column("0x1f"), *given), LargeBinary)
    return [type_coerce(packed, NullType()).label("packed"), body.label("body")]


def _path(t: Tables, backwards: bool, bodies: bool) -> Any:
    """Return the messages of the tip's segment, and a last row about the session."""
    return union_all(_messages(t, backwards, bodies), _head(t))


def _messages(t: Tables, backwards: bool, bodies: bool) -> Any:
    s, m = t.session.c, t.message.c
    base = s.tip - s.tip.bitwise_and(number(MAX_DEPTH))
    on_path = and_(
        m.tree == s.tree,
        m.pos > base + bindparam("after", type_=m.pos.type),
        m.pos < base + bindparam("before", type_=m.pos.type),
        m.pos <= s.tip,
    )
    figures = [m.pos, m.tokens, m.version, m.created_at, m.role, m.id]
    body = m.body if bodies else func.length(m.body)
    columns = _columns(t.kind, figures, body, is_full=True)
    order = m.pos.desc() if backwards else m.pos
    if t.kind == "postgresql":
        # It sees that a joined row is one row, but not that the order of the other table's index
        # is then the order of the whole: asked in this way, it stops after as many as are wanted.
        wanted = select(*columns).where(on_path)
        shown = wanted.order_by(order).limit(bindparam("most")).lateral("shown")
        joined = t.session.join(shown, true())
        return select(*shown.c).select_from(joined).where(s.key == bindparam("key"))
    wanted = (
        select(*columns)
        .select_from(t.session.join(t.message, on_path))
        .where(s.key == bindparam("key"))
        .order_by(order)
        .limit(bindparam("most"))
    )
    # SQLite has no brackets around a part of a union; MariaDB would copy what is in a subquery.
    return wanted if t.kind == "mysql" else select(*wanted.subquery("shown").c)


def _head(t: Tables) -> Any:
    s, g, e = t.session.c, t.segment.c, t.edit.c
    tip = t.message.alias("tip")
    snapshot = select(newest_edit(t)).where(e.tree == s.tree).scalar_subquery()
    is_own = (s.tip == number(0)) | (g.home == s.home)
    # A path that has data is read by itself.
    is_plain = is_own & (s.overlays == number(0)) & (s.has_data == number(0))
    context = case((is_plain, s.context))
    at_tip = g.number == s.tip.bitwise_rshift(number(DEPTH_BITS))
    figures = [s.tip, context, snapshot, g.parent, null(), tip.c.id]
    joined = t.session.outerjoin(tip, and_(tip.c.tree == s.tree, tip.c.pos == s.tip))
    joined = joined.outerjoin(t.segment, at_tip)
    return (
        select(*_columns(t.kind, figures, null(), is_full=False))
        .select_from(joined)
        .where(s.key == bindparam("key"))
    )


def latest_edit(t: Tables) -> Any:
    """Return the number of the newest edit of a tree, which dates a snapshot."""
    return select(newest_edit(t)).where(t.edit.c.tree == bindparam("tree"))


def newest_edit(t: Tables) -> Any:
    """Return the largest number of edits, so that no database looks for it through all trees'."""
    return func.max(t.edit.c.seq + number(0))


def _between(t: Tables, bodies: bool = True) -> Any:
    m = t.message
    columns = message_columns(m)
    if not bodies:
        columns = [*columns[:-1], func.length(m.c.body)]
    return select(*columns).where(
        m.c.tree == bindparam("tree"),
        m.c.pos.between(bindparam("low"), bindparam("high")),
        m.c.body.is_not(None),
    )


def positions_in(t: Tables) -> Any:
    """Return the query of a range's positions, and whether each is live."""
    m = t.message.c
    between = m.pos.between(bindparam("low"), bindparam("high"))
    return select(m.pos, m.body.is_not(None)).where(m.tree == bindparam("tree"), between)


def from_the_beginning(t: Tables) -> Any:
    """Return the query of a range's live messages, from its first on."""
    return _between(t).order_by(t.message.c.pos).limit(bindparam("most"))


def sizes_from_the_beginning(t: Tables) -> Any:
    """Return the query of a range's live messages, their bodies' sizes only, from its first on."""
    return _between(t, bodies=False).order_by(t.message.c.pos).limit(bindparam("most"))


def sizes_from_the_end(t: Tables) -> Any:
    """Return the query of a range's live messages, their bodies' sizes only, from its last back."""
    return _between(t, bodies=False).order_by(t.message.c.pos.desc()).limit(bindparam("most"))


def from_the_end(t: Tables) -> Any:
    """Return the query of a range's live messages, from its last back."""
    return _between(t).order_by(t.message.c.pos.desc()).limit(bindparam("most"))
