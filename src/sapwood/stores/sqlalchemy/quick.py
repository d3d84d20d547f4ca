"""What nearly every append is: one new message after a tip that ends a segment of its own.

It takes two statements: the session's row is moved on, which locks it and gives the position, and
the message is added. Many sessions' appends go out together in four.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, case, func, insert, select, update

from ...model import Appended
from ...rules.codec import Packed
from ..embedded.appends import Request
from .fresh import message_row, said_at, written
from .locks import shared_owner
from .lookup import key_of
from .position import MAX_DEPTH
from .tables import Tables
from .tx import Tx


def append_one(tx: Tx, request: Request) -> Appended | None:
    """Append one message; None, and nothing written, when it has to be planned."""
    (it,) = request.batch
    tx.owner_name, tx.session_name = request.owner, request.session
    said = said_at(it, now := tx.now())
    moved = tx.conn.execute(
        tx.made(_advance, it.is_ours),
        {
            "of_key": key_of(request.owner, request.session),
            "added": it.tokens,
            "active_at": said,
            "active_s": said // 1_000_000,
        }
        | (tx.owner_lock(request.owner) if tx.kind != "sqlite" else {}),
    )
    if tx.kind == "mysql":
        if not moved.rowcount:
            return None
        pos, context = moved.lastrowid, None
        _add_selected(tx, request, it, now)
    else:
        row = moved.first()
        if row is None:
            return None
        owner, tree, home, pos, running, context = row
        (seq,) = tx.next_seqs(1)
        place = {"owner": owner, "tree": tree, "pos": pos, "home": home}
        tx.add_all("message", [message_row(it, **place, running=running, now=now) | seq])
    messages = written([it], request.session, pos, now)
    return Appended(messages=messages, written=1, tip=it.id, context_tokens=context)


def _add_selected(tx: Tx, request: Request, it: Packed, now: int) -> None:
    """Add a message whose place is read from its session's row, which is ours by now."""
    extra = tx.extra_of("message", it.id)
    values = {
        "id": it.id,
        "role": it.role,
        "tokens": it.tokens,
        "created_at": said_at(it, now),
        "body": it.body,
    } | extra
    tx.refuse_large(values)
    params = {f"new_{key}": value for key, value in values.items()}
    params["of_key"] = key_of(request.owner, request.session)
    tx.conn.execute(tx.made(_insert_selected, tuple(values)), params)


def append_each(tx: Tx, requests: Sequence[Request]) -> list[Appended | None]:
    """Append one message for each of several sessions; None for those that are to be planned."""
    for owner in sorted({request.owner for request in requests}):
        tx.lock_owner(owner, shared=True)
    keys = [key_of(request.owner, request.session) for request in requests]
    found = {row[0]: row for row in tx.rows(_lock_all, keys=sorted(keys))}
    now, rows, moved, answers = tx.now(), [], [], []
    for key, request in zip(keys, requests, strict=True):
        appended = None
        if key in found and _is_extendable(found[key], request):
            _, number, owner, tree, home, tip, running, *_ = found[key]
            (it,) = request.batch
            place = {"owner": owner, "tree": tree, "pos": tip + 1, "home": home}
            tx.owner_name, tx.session_name = request.owner, request.session
            row = message_row(it, **place, running=running + it.tokens, now=now)
            rows.append(row | tx.extra_of("message", it.id))
            moved.append((number, it.tokens, said_at(it, now)))
            messages = written([it], request.session, tip + 1, now)
            appended = Appended(messages=messages, written=1, tip=it.id)
        answers.append(appended)
    if rows:
        _write_all(tx, rows, moved)
    return answers


def _is_extendable(row: Any, request: Request) -> bool:
    tip, ends, fork = row[5], row[7], row[8]
    (it,) = request.batch
    return bool(ends) and tip & MAX_DEPTH < MAX_DEPTH and (it.is_ours or not fork)


def _write_all(tx: Tx, rows: list[dict[str, Any]], moved: list[tuple[int, int, int]]) -> None:
    seqs = tx.next_seqs(len(rows))
    tx.add_given("message", [row | seq for row, seq in zip(rows, seqs, strict=True)])
    params: dict[str, Any] = {}
    for index, (number, tokens, said) in enumerate(moved):
        params |= {f"n{index}": number, f"t{index}": tokens, f"a{index}": said}
        params[f"s{index}"] = said // 1_000_000
    tx.conn.execute(tx.made(_advance_all, len(moved)), params)


def _advance(t: Tables, is_ours: bool) -> Any:
    """Move a session on by one message; ids of clients are looked up in forks, so not there."""
    s = t.session.c
    added = bindparam("added", type_=s.running.type)
    moved: Any = s.tip + 1
    wanted = [s.key == bindparam("of_key"), s.ends == 1]
    wanted.append(s.tip.bitwise_and(MAX_DEPTH) < MAX_DEPTH)
    if not is_ours:
        wanted.append(s.fork == 0)
    if t.kind != "sqlite":
        wanted.append(shared_owner(t))
    if t.kind == "mysql":
        moved = func.last_insert_id(moved)
    made = (
        update(t.session)
        .where(*wanted)
        .values(
            tip=moved,
            running=s.running + added,
            context=s.context + added,
            messages=s.messages + 1,
        )
    )
    if t.kind == "mysql":
        return made
    return made.returning(s.owner, s.tree, s.home, s.tip, s.running, s.context)


def _insert_selected(t: Tables, keys: tuple[str, ...]) -> Any:
    m, s = t.message.c, t.session.c
    given = {key: bindparam(f"new_{key}", type_=m[key].type) for key in keys}
    read = {"tree": s.tree, "pos": s.tip, "owner": s.owner, "home": s.home}
    columns = read | {"path_tokens": s.running, "version": s.ends} | given
    asked = select(*columns.values()).where(s.key == bindparam("of_key"))
    return insert(t.message).from_select([m[key] for key in columns], asked)


def _lock_all(t: Tables) -> Any:
    s = t.session.c
    columns = [s.key, s.number, s.owner, s.tree, s.home, s.tip, s.running, s.ends, s.fork]
    wanted = s.key.in_(bindparam("keys", expanding=True))
    return select(*columns).where(wanted).order_by(s.key).with_for_update()


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
        )
    )
