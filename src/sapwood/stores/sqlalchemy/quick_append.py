"""What nearly every append is: one new message after a tip that ends a segment of its own.

The session's row is moved on, which locks it and gives the position, and the message is added. That
is one statement on PostgreSQL, and a compound of two that is sent as one on MariaDB. Those of many
sessions go out together in four statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, case, func, insert, select, update

from ...model import Appended
from ...rules.codec import Packed
from ..base.append_request import Request
from ..relational.position import MAX_DEPTH
from ..relational.rows import said_at, written
from .direct import Compound, has_compounds, number
from .locks import shared_owner
from .lookup import key_of
from .messages import message_row
from .tables import Tables
from .tx import Tx

Moved = tuple[int, int | None, tuple[int, int] | None]
"""A new message's position; where these are known, the context after it and the session's stamp."""

_COMPOUND = """BEGIN NOT ATOMIC DECLARE sapwood_pos BIGINT; {};
IF ROW_COUNT() THEN SET sapwood_pos = LAST_INSERT_ID(); {}; END IF;
COMMIT; SELECT sapwood_pos; END"""
"""What it gives comes after the commit: no answer is told before."""


# by itself


def append_one(tx: Tx, request: Request) -> Appended | None:
    """Append one message; None, and nothing written, when it has to be planned."""
    (it,) = request.batch
    tx.owner_name, tx.session_name = request.owner, request.session
    now = tx.now()
    said = said_at(it, now)
    asked = {
        "of_key": key_of(request.owner, request.session),
        "added": it.tokens,
        "at": said,
        "at_s": said // 1_000_000,
        "written_at": now,
        "written_s": now // 1_000_000,
    }
    if tx.kind == "sqlite":
        moved = _add_to_sqlite(tx, it, asked, now)
    else:
        moved = _add_to_server(tx, it, asked | tx.owner_lock(request.owner), said)
    if moved is None:
        return None
    pos, context, stamp = moved
    messages = written([it], request.session, pos, now)
    return Appended(messages=messages, written=1, tip=it.id, context_tokens=context, stamp=stamp)


def _add_to_sqlite(tx: Tx, it: Packed, asked: dict[str, Any], now: int) -> Moved | None:
    row = tx.conn.execute(tx.made(_advance, it.is_ours), asked).first()
    if row is None:
        return None
    owner, tree, home, pos, running, context, *stamp = row
    (seq,) = tx.next_seqs(1)
    place = {"owner": owner, "tree": tree, "pos": pos, "home": home}
    tx.add_all("message", [message_row(it, **place, running=running, now=now) | seq])
    return pos, context, (stamp[0], stamp[1])


def _add_to_server(tx: Tx, it: Packed, asked: dict[str, Any], said: int) -> Moved | None:
    values = {
        "id": it.id,
        "role": it.role,
        "tokens": it.tokens,
        "created_at": said,
        "body": it.body,
        **({} if it.given_digest is None else {"digest": it.given_digest}),
        **tx.extra_of("message", it.id),
    }
    tx.refuse_large(values)
    keys = tuple(values)
    asked |= {f"new_{n}": value for n, value in enumerate(values.values())}
    if tx.kind == "postgresql":
        row: Any = tx.direct(_append, it.is_ours, keys).run(tx.conn, asked).first()
        return None if row is None else (row[0], row[1], (row[2], row[3]))
    # Names are bytes there.
    for name in ("owner_name", "new_0", "new_1"):
        asked[name] = asked[name].encode()
    if has_compounds(tx.conn.dialect):
        (pos,) = tx.direct(_compound, it.is_ours, keys).run_compound(tx.conn, asked)
        return None if pos is None else (pos, None, None)
    moved = tx.direct(_advance, it.is_ours).run(tx.conn, asked)
    if not moved.rowcount:
        return None
    tx.direct(_insert_selected, keys).run(tx.conn, asked)
    return moved.lastrowid, None, None


def _append(t: Tables, is_ours: bool, keys: tuple[str, ...]) -> Any:
    """Move a session on and add a message in one statement."""
    moved = _advance(t, is_ours).cte("moved")
    added = _insert_from(t, moved.c, keys, select()).cte("added")
    return select(*moved.c["tip", "context", "version", "created_at"]).add_cte(added)


def _compound(t: Tables, is_ours: bool, keys: tuple[str, ...]) -> Compound:
    return Compound(_COMPOUND, [_advance(t, is_ours), _insert_selected(t, keys)])


def _advance(t: Tables, is_ours: bool) -> Any:
    """Move a session on by one message; ids of clients are looked up in forks, so not there."""
    s = t.session.c
    added = bindparam("added", type_=s.running.type)
    most = number(MAX_DEPTH)
    wanted = [
        s.key == bindparam("of_key"),
        s.ends == number(1),
        s.closed == number(0),
        s.has_data == number(0),
        s.tip.bitwise_and(most) < most,
    ]
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
        "updated_at": bindparam("written_at", type_=s.updated_at.type),
        "updated_s": bindparam("written_s", type_=s.updated_at.type),
    }
    if t.kind == "mysql":
        # The answer to a statement that gives back no rows tells the tip.
        values["tip"] = func.last_insert_id(values["tip"])
        return update(t.session).where(*wanted).values(values)
    made = update(t.session).where(*wanted).values(values)
    return made.returning(
        s.owner, s.tree, s.home, s.tip, s.running, s.context, s.version, s.created_at
    )


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


# together


def append_each(tx: Tx, requests: Sequence[Request]) -> list[Appended | None]:
    """Append one message for each of several sessions; None for those that are to be planned."""
    for owner in sorted({request.owner for request in requests}):
        tx.lock_owner(owner, shared=True)
    keys = [key_of(request.owner, request.session) for request in requests]
    found = {row[0]: row for row in tx.rows(_lock_all, keys=sorted(keys))}
    now = tx.now()
    rows: list[dict[str, Any]] = []
    moved: dict[str, Any] = {}
    answers: list[Appended | None] = [None] * len(requests)
    for at, (key, request) in enumerate(zip(keys, requests, strict=True)):
        (it,) = request.batch
        if key not in found or not _is_extendable(found[key], it):
            continue
        _, session, number, tree, home, tip, running, *_ = found[key]
        place = {"owner": number, "tree": tree, "pos": tip + 1, "home": home}
        tx.owner_name, tx.session_name = request.owner, request.session
        row = message_row(it, **place, running=running + it.tokens, now=now)
        n, said = len(rows), said_at(it, now)
        moved |= {f"n{n}": session, f"t{n}": it.tokens, f"a{n}": said, f"s{n}": said // 1_000_000}
        rows.append(row | tx.extra_of("message", it.id))
        messages = written([it], request.session, tip + 1, now)
        answers[at] = Appended(messages=messages, written=1, tip=it.id)
    if rows:
        seqs = tx.next_seqs(len(rows))
        tx.add_given("message", [row | seq for row, seq in zip(rows, seqs, strict=True)])
        moved |= {"written_at": now, "written_s": now // 1_000_000}
        tx.conn.execute(tx.made(_advance_all, len(rows)), moved)
    return answers


def _is_extendable(row: Any, it: Packed) -> bool:
    *_, tip, _, ends, fork, closed, has_data = row
    can_grow = ends and not (closed or has_data) and tip & MAX_DEPTH < MAX_DEPTH
    return bool(can_grow and (it.is_ours or not fork))


def _lock_all(t: Tables) -> Any:
    s = t.session.c
    keys = ("key", "number", "owner", "tree", "home", "tip", "running", "ends", "fork")
    wanted = s.key.in_(bindparam("keys", expanding=True))
    return select(*s[(*keys, "closed", "has_data")]).where(wanted).order_by(s.key).with_for_update()


def _advance_all(t: Tables, count: int) -> Any:
    s = t.session.c
    numbers = [bindparam(f"n{index}", type_=s.number.type) for index in range(count)]

    def each(letter: str) -> Any:
        values = [bindparam(f"{letter}{index}", type_=s.number.type) for index in range(count)]
        pairs = zip(numbers, values, strict=True)
        return case(*((s.number == number, value) for number, value in pairs), else_=0)

    return (
        update(t.session)
        .where(s.number.in_(numbers))
        .values(
            tip=s.tip + 1,
            running=s.running + each("t"),
            context=s.context + each("t"),
            messages=s.messages + 1,
            active_at=each("a"),
            active_s=each("s"),
            updated_at=bindparam("written_at", type_=s.updated_at.type),
            updated_s=bindparam("written_s", type_=s.updated_at.type),
        )
    )
