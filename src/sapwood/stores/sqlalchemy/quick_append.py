"""What nearly every append is: one new message after a tip that ends a segment of its own.

The session's row is moved on, which locks it and gives the position, and the message is added. That
is one statement on PostgreSQL, and a compound that is sent as one on MariaDB, also with data, and
with what else comes along. Those of many sessions go out together in four statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, case, func, insert, select, update

from ...model import Appended
from ...rules.codec import Packed
from ..base.append_request import Request
from ..relational.position import MAX_DEPTH, public
from ..relational.rows import said_at, written
from .along import (
    IN_VARIABLES,
    NOTHING,
    Along,
    BlockParts,
    StatementParts,
    along_of,
    changes,
    conditions,
    values_along,
    versions_of,
)
from .direct import Compound, has_compounds, number
from .locks import shared_owner
from .lookup import key_of
from .messages import message_row
from .tables import Tables
from .tx import Tx

Moved = tuple[Any, ...]
"""A new message's position, where the data stands that holds there; where these are known, the
context after it and the session's stamp; and the versions of documents that were put."""

_COMPOUND = """BEGIN NOT ATOMIC DECLARE {place}, sapwood_seq{names} BIGINT; {{}};
IF ROW_COUNT() THEN {{}} INTO {place}; {{}};{seq}{along} END IF;
COMMIT; SELECT sapwood_tip, sapwood_data_at{versions}; END"""
"""What it gives comes after the commit: no answer is told before."""


# by itself


class Shape(NamedTuple):
    """What the text of a statement depends on."""

    is_ours: bool
    keys: tuple[str, ...]
    """The columns of the message that are given."""
    along: Along = NOTHING


def append_one(tx: Tx, request: Request) -> Appended | None:
    """Append one message; None, and nothing written, when it has to be planned."""
    (it,) = request.batch
    tx.owner_name, tx.session_name = request.owner, request.session
    along = along_of(tx, request)
    if along is None:
        return None
    now = tx.now()
    said = said_at(it, now)
    asked = {
        "of_key": key_of(request.owner, request.session),
        "added": it.tokens,
        "at": said,
        "at_s": said // 1_000_000,
        "written_at": now,
        "written_s": now // 1_000_000,
        **values_along(request, along, now),
    }
    if tx.kind == "sqlite":
        moved = _add_to_sqlite(tx, it, asked, now)
    else:
        moved = _add_to_server(tx, it, asked | tx.owner_lock(request.owner), said, along)
    if moved is None:
        return None
    pos, held, context, stamp, *versions = moved
    return Appended(
        messages=written([it], request.session, pos, now, held),
        written=1,
        tip=it.id,
        documents=versions_of(request.extras, versions),
        # What comes along may change the record.
        context_tokens=None if along.is_unit else context,
        stamp=None if along.is_unit else stamp,
        data_at=public(pos) if along.has_data else None,
    )


def _add_to_sqlite(tx: Tx, it: Packed, asked: dict[str, Any], now: int) -> Moved | None:
    shape = Shape(it.is_ours, (), Along(it.data is not None))
    row = tx.conn.execute(tx.made(_advance, shape), asked).first()
    if row is None:
        return None
    (seq,) = tx.next_seqs(1)
    place = {"owner": row.owner, "tree": row.tree, "pos": row.tip, "home": row.home}
    tx.add_all("message", [message_row(it, **place, running=row.running, now=now) | seq])
    if it.data is not None:
        place = {"tree": row.tree, "pos": row.tip, "previous": row.data_before}
        tx.add("data", **place, value=it.data)
    return row.tip, row.data_at, row.context, (row.version, row.created_at)


def _add_to_server(
    tx: Tx, it: Packed, asked: dict[str, Any], said: int, along: Along
) -> Moved | None:
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
    shape = Shape(it.is_ours, tuple(values), along)
    asked |= {f"new_{n}": value for n, value in enumerate(values.values())}
    if tx.kind == "postgresql":
        row: Any = tx.direct(_append, shape).run(tx.conn, asked).first()
        return None if row is None else (row[0], row[1], row[2], (row[3], row[4]), *row[5:])
    # Names are bytes there.
    asked = {name: it.encode() if isinstance(it, str) else it for name, it in asked.items()}
    if has_compounds(tx.conn.dialect):
        pos, held, *versions = tx.direct(_compound, shape).run_compound(tx.conn, asked)
        return None if pos is None else (pos, held, None, None, *versions)
    moved = tx.direct(_advance_without_data, shape).run(tx.conn, asked)
    if not moved.rowcount:
        return None
    tx.direct(_insert_selected, shape).run(tx.conn, asked)
    return moved.lastrowid, 0, None, None


def _append(t: Tables, shape: Shape) -> Any:
    """Move a session on and add a message in one statement, with what comes along."""
    moved = _advance(t, shape).cte("moved")
    steps = StatementParts(t, shape.along, moved)
    new = _new_message(t, moved.c, shape.keys)
    new["id"] = steps.unless_refused(new["id"])
    added = insert(t.message).from_select(list(new), select(*new.values()))
    if shape.along.patched is None:
        ends = [added.cte("added")]
    else:
        told = added.returning(t.message.c.seq).cte("added")
        ends = [told, steps.told(told)]
    columns = moved.c["tip", "data_at", "context", "version", "created_at"]
    # Fences come first: whatever is written may be what they are about.
    asked = select(*columns, *steps.versions).where(*steps.fences)
    return asked.add_cte(*steps.first, *ends)


def _compound(t: Tables, shape: Shape) -> Compound:
    block, s = BlockParts(t, shape.along), t.session.c
    names, versions = (
        "".join(f", {it}" for it in some) for some in (block.variables, block.versions)
    )
    seq = "SET sapwood_seq = LAST_INSERT_ID();" if shape.along.patched is not None else ""
    text = _COMPOUND.format(
        place=IN_VARIABLES.variables, names=names, seq=seq, along=block.text, versions=versions
    )
    place = [s[it] for it in IN_VARIABLES.columns]
    found = select(*place).where(s.key == bindparam("of_key"))
    added = insert(t.message).values(_new_message(t, IN_VARIABLES, shape.keys)).inline()
    return Compound(text, [_advance(t, shape), found, added, *block.statements])


def _advance(t: Tables, shape: Shape) -> Any:
    """Move a session on by one message; ids of clients are looked up in forks, so not there."""
    s = t.session.c
    added = bindparam("added", type_=s.running.type)
    most = number(MAX_DEPTH)
    wanted = [
        s.key == bindparam("of_key"),
        s.ends == number(1),
        s.closed == number(0),
        s.tip.bitwise_and(most) < most,
        *conditions(t, shape.along),
    ]
    if not shape.is_ours:
        wanted.append(s.fork == number(0))
    if t.kind != "sqlite":
        wanted.append(shared_owner(t))
    tip = s.tip + number(1)
    values = [
        *changes(t, shape.along),
        # The answer to a statement that gives back no rows tells the tip.
        (s.tip, func.last_insert_id(tip) if t.kind == "mysql" else tip),
        (s.running, s.running + added),
        (s.context, s.context + added),
        (s.messages, s.messages + number(1)),
        (s.active_at, bindparam("at", type_=s.active_at.type)),
        (s.active_s, bindparam("at_s", type_=s.active_s.type)),
        (s.updated_at, bindparam("written_at", type_=s.updated_at.type)),
        (s.updated_s, bindparam("written_s", type_=s.updated_at.type)),
    ]
    # In this order: MariaDB sees in each what the ones before it changed.
    made = update(t.session).where(*wanted).ordered_values(*values)
    if t.kind == "mysql":
        return made
    keys = ("number", "owner", "id", "tree", "home", "tip", "running", "context", "version")
    return made.returning(*s[(*keys, "created_at", "data_at", "data_before")])


def _advance_without_data(t: Tables, shape: Shape) -> Any:
    """Move on what has no data: where that stands would have to be asked for."""
    return _advance(t, shape).where(t.session.c.has_data == number(0))


def _insert_selected(t: Tables, shape: Shape) -> Any:
    """Add a message whose place is read from its session's row, which is ours by now."""
    s = t.session.c
    new = _new_message(t, s, shape.keys)
    asked = select(*new.values()).where(s.key == bindparam("of_key"))
    return insert(t.message).from_select(list(new), asked)


def _new_message(t: Tables, s: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    m = t.message.c
    given = {key: bindparam(f"new_{n}", type_=m[key].type) for n, key in enumerate(keys)}
    read = {"tree": s.tree, "pos": s.tip, "owner": s.owner, "home": s.home}
    return {**read, "path_tokens": s.running, "version": number(1), **given}


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
        _, session, number, tree, home, tip, running, held, *_ = found[key]
        place = {"owner": number, "tree": tree, "pos": tip + 1, "home": home}
        tx.owner_name, tx.session_name = request.owner, request.session
        row = message_row(it, **place, running=running + it.tokens, now=now)
        n, said = len(rows), said_at(it, now)
        moved |= {f"n{n}": session, f"t{n}": it.tokens, f"a{n}": said, f"s{n}": said // 1_000_000}
        rows.append(row | tx.extra_of("message", it.id))
        messages = written([it], request.session, tip + 1, now, held)
        answers[at] = Appended(messages=messages, written=1, tip=it.id)
    if rows:
        seqs = tx.next_seqs(len(rows))
        tx.add_given("message", [row | seq for row, seq in zip(rows, seqs, strict=True)])
        moved |= {"written_at": now, "written_s": now // 1_000_000}
        tx.conn.execute(tx.made(_advance_all, len(rows)), moved)
    return answers


def _is_extendable(row: Any, it: Packed) -> bool:
    *_, tip, _, _, ends, fork, closed = row
    can_grow = ends and not closed and tip & MAX_DEPTH < MAX_DEPTH
    return bool(can_grow and (it.is_ours or not fork))


def _lock_all(t: Tables) -> Any:
    s = t.session.c
    keys = ("key", "number", "owner", "tree", "home", "tip", "running", "data_at", "ends", "fork")
    wanted = s.key.in_(bindparam("keys", expanding=True))
    return select(*s[(*keys, "closed")]).where(wanted).order_by(s.key).with_for_update()


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
