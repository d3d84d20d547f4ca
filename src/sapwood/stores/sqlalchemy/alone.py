"""What nearly every append is: one new message after a tip that ends a segment of its own.

The session's row is moved on, which locks it and gives the position, and the message is added. That
is one statement on PostgreSQL, and a block of two that is sent as one on MariaDB.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from ...model import Appended
from ...rules.codec import Packed
from ..base.appends import Request
from ..relational.position import MAX_DEPTH
from ..relational.rows import said_at, written
from .direct import Block, has_blocks, number
from .fresh import message_row
from .locks import shared_owner
from .lookup import key_of
from .tables import Tables
from .tx import Tx

Moved = tuple[int, int | None, tuple[int, int] | None]
"""A new message's position; where these are known, the context after it and the session's stamp."""

_BLOCK = """BEGIN NOT ATOMIC DECLARE sapwood_pos BIGINT; {};
IF ROW_COUNT() THEN SET sapwood_pos = LAST_INSERT_ID(); {}; END IF;
COMMIT; SELECT sapwood_pos; END"""
"""What it gives comes after the commit: no answer is told before."""


def append_one(tx: Tx, request: Request) -> Appended | None:
    """Append one message; None, and nothing written, when it has to be planned."""
    (it,) = request.batch
    tx.owner_name, tx.session_name = request.owner, request.session
    now = tx.now()
    asked = {
        "of_key": key_of(request.owner, request.session),
        "added": it.tokens,
        "at": (said := said_at(it, now)),
        "at_s": said // 1_000_000,
    }
    add = {"sqlite": _add_to_sqlite, "mysql": _add_to_mysql}.get(tx.kind, _add_to_postgres)
    moved = add(tx, it, asked, now)
    if moved is None:
        return None
    pos, context, stamp = moved
    messages = written([it], request.session, pos, now)
    return Appended(messages=messages, written=1, tip=it.id, context_tokens=context, stamp=stamp)


def _add_to_postgres(tx: Tx, it: Packed, asked: dict[str, Any], now: int) -> Moved | None:
    keys = _take_values(tx, it, asked, now)
    row: Any = tx.direct(_append, it.is_ours, keys).run(tx.conn, asked).first()
    return None if row is None else (row[0], row[1], (row[2], row[3]))


def _add_to_mysql(tx: Tx, it: Packed, asked: dict[str, Any], now: int) -> Moved | None:
    keys = _take_values(tx, it, asked, now)
    # Names are bytes there.
    for name in ("owner_name", "new_0", "new_1"):
        asked[name] = asked[name].encode()
    if has_blocks(tx.conn.dialect):
        (pos,) = tx.direct(_block, it.is_ours, keys).run_alone(tx.conn, asked)
        return None if pos is None else (pos, None, None)
    moved = tx.direct(_advance, it.is_ours).run(tx.conn, asked)
    if not moved.rowcount:
        return None
    tx.direct(_insert_selected, keys).run(tx.conn, asked)
    return moved.lastrowid, None, None


def _take_values(tx: Tx, it: Packed, asked: dict[str, Any], now: int) -> tuple[str, ...]:
    """Take up the values of a new message; give their keys."""
    values = {
        "id": it.id,
        "role": it.role,
        "tokens": it.tokens,
        "created_at": said_at(it, now),
        "body": it.body,
        **tx.extra_of("message", it.id),
    }
    tx.refuse_large(values)
    assert tx.owner_name is not None
    asked |= tx.owner_lock(tx.owner_name)
    asked |= {f"new_{n}": value for n, value in enumerate(values.values())}
    return tuple(values)


def _add_to_sqlite(tx: Tx, it: Packed, asked: dict[str, Any], now: int) -> Moved | None:
    row = tx.conn.execute(tx.made(_advance, it.is_ours), asked).first()
    if row is None:
        return None
    owner, tree, home, pos, running, context, *stamp = row
    (seq,) = tx.next_seqs(1)
    place = {"owner": owner, "tree": tree, "pos": pos, "home": home}
    tx.add_all("message", [message_row(it, **place, running=running, now=now) | seq])
    return pos, context, (stamp[0], stamp[1])


def _append(t: Tables, is_ours: bool, keys: tuple[str, ...]) -> Any:
    """Move a session on and add a message in one statement."""
    moved = _advance(t, is_ours).cte("moved")
    added = _insert_from(t, moved.c, keys, select()).cte("added")
    return select(*moved.c["tip", "context", "version", "created_at"]).add_cte(added)


def _block(t: Tables, is_ours: bool, keys: tuple[str, ...]) -> Block:
    return Block(_BLOCK, [_advance(t, is_ours), _insert_selected(t, keys)])


def _advance(t: Tables, is_ours: bool) -> Any:
    """Move a session on by one message; ids of clients are looked up in forks, so not there."""
    s = t.session.c
    added = bindparam("added", type_=s.running.type)
    most = number(MAX_DEPTH)
    wanted = [s.key == bindparam("of_key"), s.ends == number(1), s.tip.bitwise_and(most) < most]
    if not is_ours:
        wanted.append(s.fork == number(0))
    if t.kind != "sqlite":
        wanted.append(shared_owner(t))
    values = {
        "tip": s.tip + number(1),
        "running": s.running + added,
        "context": s.context + added,
        "messages": s.messages + number(1),
        "active_at": bindparam("at", type_=s.active_at.type),
        "active_s": bindparam("at_s", type_=s.active_s.type),
    }
    if t.kind == "mysql":
        return update(t.session).where(*wanted).values(values | {"tip": _told(values["tip"])})
    made = update(t.session).where(*wanted).values(values)
    return made.returning(
        s.owner, s.tree, s.home, s.tip, s.running, s.context, s.version, s.created_at
    )


def _told(tip: Any) -> Any:
    """Let the answer to a statement that gives back no rows tell the tip."""
    return func.last_insert_id(tip)


def _insert_selected(t: Tables, keys: tuple[str, ...]) -> Any:
    """Add a message whose place is read from its session's row, which is ours by now."""
    s = t.session.c
    return _insert_from(t, s, keys, select().where(s.key == bindparam("of_key")))


def _insert_from(t: Tables, s: Any, keys: tuple[str, ...], asked: Any) -> Any:
    m = t.message.c
    given = {key: bindparam(f"new_{n}", type_=m[key].type) for n, key in enumerate(keys)}
    read = {"tree": s.tree, "pos": s.tip, "owner": s.owner, "home": s.home}
    columns = {**read, "path_tokens": s.running, "version": number(1), **given}
    return insert(t.message).from_select(list(columns), asked.add_columns(*columns.values()))
