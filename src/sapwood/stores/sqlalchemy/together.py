"""Appends of many sessions that go out together in four statements, each one new message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, case, select, update

from ...model import Appended
from ..base.appends import Request
from ..relational.position import MAX_DEPTH
from ..relational.rows import said_at, written
from .fresh import message_row
from .lookup import key_of
from .tables import Tables
from .tx import Tx


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
