"""Reading with one statement, which is its own snapshot: what nearly every read is.

That is a read up to a session's tip, on a path that lies in one segment as far as it is asked
for, without overlays. Whatever else there may be is found out from the same statement's answer.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, func, literal, literal_column, null, select, union_all

from ...errors import StoreCorruptError
from ...model import ROOT, History, Message, Read
from ...rules.codec import decode_body
from .lookup import key_of
from .position import MAX_DEPTH
from .reading import NO_LIMIT
from .rows import message_columns, no_session
from .tables import Tables
from .tx import Row, Tx

_HEAD, _MESSAGE = 0, 1


def read_quickly(tx: Tx, owner: str, session: str, query: Read) -> History | None:
    """Read a path; None when it takes more than this."""
    if query.leaf is not None or query.max_bytes is not None:
        return None
    limit = query.limit
    rows = tx.conn.execute(
        tx.made(_path, query.backwards),
        {
            "key": key_of(owner, session),
            "after": query.after,
            "before": MAX_DEPTH + 1 if query.before is None else query.before,
            "most": NO_LIMIT if limit is None else limit + 1,
        },
    ).all()
    heads = [row for row in rows[-1:] if row[0] == _HEAD]
    if not heads:
        raise no_session(session)
    found = rows[:-1]
    more = limit is not None and len(found) > limit
    if not _is_enough(heads[0], found, query, more):
        return None
    return _history(heads[0], found[:-1] if more else found, session, query.backwards, more)


def _is_enough(head: Row, found: Any, query: Read, more: bool) -> bool:
    """Tell whether the answer is all that there is to know."""
    _, tip, home, _, _, context, _, overlays, _, is_stale, parent = head
    if overlays or context is None or is_stale or (found and found[0][2] != home):
        return False
    begins = not tip or not parent or query.after >= parent & MAX_DEPTH
    return begins or (query.backwards and more)


def _history(head: Row, found: Any, session: str, backwards: bool, more: bool) -> History:
    _, tip, _, tip_id, _, context, snapshot, *_ = head
    if tip and tip_id is None:
        raise StoreCorruptError(f"the tip of session {session!r} is missing")
    shown = list(reversed(found)) if backwards else found
    place = tip_id if tip else ROOT
    return History(
        entries=[_message(row, session) for row in shown],
        leaf=place,
        tip=place,
        context_tokens=context,
        more=more,
        bytes=sum([len(row[8]) for row in shown]),
        snapshot=str(snapshot or 0),
    )


def _message(row: Row, session: str) -> Message:
    _, pos, _, id, role, tokens, version, created_at, data, _, _ = row
    body = decode_body(data, id)
    return Message(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        segment=str(pos >> 24),
        depth=pos & MAX_DEPTH,
        home=session,
        tokens=tokens,
        version=version,
        created_us=created_at,
    )


def _path(t: Tables, backwards: bool) -> Any:
    """Give the messages of the tip's segment, and a last row about the session."""
    messages = _messages(t, backwards).subquery("shown")
    return union_all(select(*messages.c), _head(t))


def _messages(t: Tables, backwards: bool) -> Any:
    s, m = t.session.c, t.message.c
    base = s.tip - s.tip.bitwise_and(MAX_DEPTH)
    on_path = and_(
        m.tree == s.tree,
        m.pos > base + bindparam("after", type_=m.pos.type),
        m.pos < base + bindparam("before", type_=m.pos.type),
        m.pos <= s.tip,
    )
    nothing = [literal(0).label("is_stale"), literal(0).label("parent")]
    return (
        select(literal(_MESSAGE).label("kind"), *message_columns(t.message), *nothing)
        .select_from(t.session.join(t.message, on_path))
        .where(s.key == bindparam("key"), m.body.is_not(None))
        .order_by(m.pos.desc() if backwards else m.pos)
        .limit(bindparam("most"))
    )


def _head(t: Tables) -> Any:
    s, g, e = t.session.c, t.segment.c, t.edit.c
    tip = t.message.alias("tip")
    snapshot = select(func.max(e.seq)).where(e.tree == s.tree).scalar_subquery()
    is_stale = select(func.count()).where(t.stale.c.tree == s.tree).scalar_subquery()
    parent = (
        select(g.parent)
        .where(g.number == s.tip.bitwise_rshift(literal_column("24")))
        .scalar_subquery()
    )
    return (
        select(
            literal(_HEAD),
            s.tip,
            s.home,
            tip.c.id,
            null(),
            s.context,
            snapshot,
            s.overlays,
            null(),
            is_stale,
            parent,
        )
        .select_from(t.session.outerjoin(tip, and_(tip.c.tree == s.tree, tip.c.pos == s.tip)))
        .where(s.key == bindparam("key"))
    )
