"""Reading with one statement, which is its own snapshot: what nearly every read is.

That is a read up to a session's tip, on a path that lies in one segment of its own as far as it is
asked for, without overlays. Whatever else there may be is found out from the same statement's
answer: after the messages comes a row about the session, the head, which has no body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, case, null, select, true, union_all

from ...errors import StoreCorruptError
from ...model import ROOT, History, Message, Read
from ...rules.codec import decode_body
from ...rules.missing_messages import refuse_missing
from ..base.refusals import no_session
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from .direct import number
from .lookup import key_of
from .reading import NO_LIMIT, newest_edit
from .shape import shape_of
from .tables import Tables
from .tx import Row, Tx


class _Head(NamedTuple):
    """What there is to know of a session; a context of None says that this is not enough."""

    tip: int
    context: int | None
    snapshot: int | None
    parent: int | None
    role: None
    tip_id: str | None


def read_quickly(tx: Tx, owner: str, session: str, query: Read) -> History | None:
    """Read a path; None when it takes more than this."""
    if query.leaf is not None or query.max_bytes is not None:
        return None
    shape, most = shape_of(tx.kind), NO_LIMIT if query.limit is None else query.limit + 1
    while True:
        rows = _rows(tx, owner, session, query, most)
        head = _Head._make(shape.read(rows.pop()))
        live = [row for row in rows if row[-1] is not None]
        more = query.limit is not None and len(live) > query.limit
        if more or len(rows) < most:
            break
        # Some of them were deleted, and do not count.
        most += len(rows) - len(live)
    if not _is_enough(head, query, more):
        return None
    stopped_at = shape.read(rows[-1])[0] if len(rows) == most else None
    first, last = _gone_over(head, query, stopped_at)
    if len(rows) < last - first + 1:
        depths = sorted(shape.read(row)[0] & MAX_DEPTH for row in rows)
        refuse_missing(((depth, depth) for depth in depths), first, last, session)
    shown = live[:-1] if more else live
    if query.backwards:
        shown.reverse()
    messages = [_message(shape.read(row), row[-1], session) for row in shown]
    return _history(head, messages, shown, more)


def _rows(tx: Tx, owner: str, session: str, query: Read, most: int) -> list[Row]:
    """Read so many rows of messages, deleted ones too, and the head."""
    asked = {
        "key": key_of(owner, session),
        "after": query.after,
        "before": MAX_DEPTH + 1 if query.before is None else query.before,
        "most": most,
    }
    rows = list(tx.direct(_path, query.backwards).run(tx.conn, asked).all())
    if not rows or rows[-1][-1] is not None:
        raise no_session(session)
    return rows


def _gone_over(head: _Head, query: Read, stopped_at: int | None) -> tuple[int, int]:
    """Give the depths that a read went over in the tip's segment, both included."""
    first = max(query.after, (head.parent or 0) & MAX_DEPTH) + 1
    last = (head.tip or 0) & MAX_DEPTH
    if query.before is not None:
        last = min(last, query.before - 1)
    if stopped_at is None:
        return first, last
    depth = stopped_at & MAX_DEPTH
    return (depth, last) if query.backwards else (first, depth)


def _is_enough(head: _Head, query: Read, more: bool) -> bool:
    """Tell whether the answer is all that there is to know."""
    if head.context is None:
        return False
    begins = not head.tip or not head.parent or query.after >= head.parent & MAX_DEPTH
    return begins or (query.backwards and more)


def _history(head: _Head, messages: list[Message], rows: Sequence[Row], more: bool) -> History:
    if head.tip and head.tip_id is None:
        raise StoreCorruptError("the message at a session's tip is missing")
    assert head.context is not None
    place = head.tip_id if head.tip and head.tip_id is not None else ROOT
    return History(
        entries=list(messages),
        leaf=place,
        tip=place,
        context_tokens=head.context,
        more=more,
        bytes=sum([len(row[-1]) for row in rows]),
        snapshot=str(head.snapshot or 0),
    )


def _message(figures: Sequence[Any], data: bytes, session: str) -> Message:
    pos, tokens, version, created_at, role, id = figures
    body = decode_body(data, id)
    return Message(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & MAX_DEPTH,
        home=session,
        tokens=tokens,
        version=version,
        created_us=created_at,
    )


def _path(t: Tables, backwards: bool) -> Any:
    """Give the messages of the tip's segment, and a last row about the session."""
    return union_all(_messages(t, backwards), _head(t))


def _messages(t: Tables, backwards: bool) -> Any:
    s, m = t.session.c, t.message.c
    base = s.tip - s.tip.bitwise_and(number(MAX_DEPTH))
    on_path = and_(
        m.tree == s.tree,
        m.pos > base + bindparam("after", type_=m.pos.type),
        m.pos < base + bindparam("before", type_=m.pos.type),
        m.pos <= s.tip,
    )
    figures = [m.pos, m.tokens, m.version, m.created_at, m.role, m.id]
    columns = shape_of(t.kind).columns(figures, m.body, is_full=True)
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
    context = case((is_own & (s.overlays == number(0)), s.context))
    at_tip = g.number == s.tip.bitwise_rshift(number(DEPTH_BITS))
    figures = [s.tip, context, snapshot, g.parent, null(), tip.c.id]
    joined = t.session.outerjoin(tip, and_(tip.c.tree == s.tree, tip.c.pos == s.tip))
    joined = joined.outerjoin(t.segment, at_tip)
    return (
        select(*shape_of(t.kind).columns(figures, null(), is_full=False))
        .select_from(joined)
        .where(s.key == bindparam("key"))
    )
