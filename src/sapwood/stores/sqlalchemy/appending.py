"""Appending as the contract says, whatever of a batch is known and wherever it goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update

from ...errors import StoreError
from ...model import Appended, Root
from ...rules.append import Known, plan_append
from ...rules.codec import Packed, decode_body, digest
from ...rules.tree import extend_lineage
from ..relational.position import (
    DEPTH_BITS,
    MAX_DEPTH,
    pack_lineage,
    pack_place,
    place_of,
    unpack_place,
)
from ..relational.rows import SeenMessage, SessionRow, Touches
from .fresh import message_row, said_at, written
from .lookup import find_all_seen, get_pos, get_session, id_at, in_parts, messages_at
from .sums import context_at, is_edited
from .tables import Tables
from .tx import Tx

RECENT_STEPS = 64
"""How many spans an append walks to know its context; beyond that it is worked out when asked,
until `settle` has done so."""


class End(NamedTuple):
    """The message to append after, and whether the position after it is taken."""

    pos: int
    home: int | None
    path_tokens: int
    is_followed: bool


def append_planned(
    tx: Tx,
    owner: str,
    session: str,
    batch: Sequence[Packed],
    parent: str | Root | None,
    expected_tip: str | Root | None,
) -> Appended:
    """Append a batch, looking before each step."""
    row = get_session(tx, owner, session, Touches.APPENDS)
    seen = find_all_seen(tx, row, [it.id for it in batch])
    known = _known(tx, row, seen, parent)
    tip = id_at(tx, row.tree, row.tip)
    plan = plan_append(batch, known, tip, parent, expected_tip)
    stored = messages_at(tx, row.tree, [seen[it.id].pos for it in batch[: plan.known]])
    new = batch[plan.known :]
    if not new:
        return Appended(messages=stored, written=0, tip=tip)
    pos = row.tip if plan.parent is None else get_pos(tx, row, plan.parent)
    now = tx.now()
    start, context = _write(tx, row, new, _end_at(tx, row.tree, pos), now)
    messages = [*stored, *written(new, row.id, start, now)]
    return Appended(
        messages=messages,
        written=len(new),
        tip=new[-1].id,
        context_tokens=context,
        stamp=(row.version, row.created_at),
    )


def _known(
    tx: Tx, row: SessionRow, seen: dict[str, SeenMessage], asked: str | Root | None
) -> dict[str, Known]:
    """Give the digests of known messages, and where it is asked for, their parents."""
    known: dict[str, Known] = {}
    for some in in_parts([it.pos for it in seen.values()]):
        for pos, id, role, kept, body in tx.rows(_contents, tree=row.tree, positions=some):
            first = kept
            if kept is None and body is not None:
                first = digest(role, decode_body(body, id))
            parent: str | Root = ""
            if asked is not None:
                parent = id_at(tx, row.tree, parent_pos(tx, pos))
            known[id] = Known(first, parent)
    return known


def parent_pos(tx: Tx, pos: int) -> int:
    """Give the position that a position follows; 0 for the root."""
    place = place_of(pos)
    lineage = tx.lineage(place.segment)
    first = lineage[0].depth + 1 if lineage else 1
    return pos - 1 if place.depth > first else pack_place(lineage[0] if lineage else None)


def _end_at(tx: Tx, tree: int, pos: int) -> End:
    if not pos:
        return End(0, None, 0, False)
    rows = {found: (home, running) for found, home, running in tx.rows(_two, tree=tree, pos=pos)}
    home, running = rows[pos]
    return End(pos, home, running, pos + 1 in rows)


def _write(
    tx: Tx, row: SessionRow, batch: Sequence[Packed], end: End, now: int
) -> tuple[int, int | None]:
    """Write messages after a position; give the first one's, and the context after them."""
    first = _first_slot(tx, row, end, len(batch))
    running, rows = end.path_tokens, []
    for pos, it in enumerate(batch, first):
        running += it.tokens
        place = {"owner": row.owner, "tree": row.tree, "pos": pos, "home": row.home}
        rows.append(message_row(it, **place, running=running, now=now))
    seqs = tx.next_seqs(len(rows))
    tx.add_all("message", [it | seq for it, seq in zip(rows, seqs, strict=True)])
    context = _context_after(tx, row, end, running - end.path_tokens)
    said = said_at(batch[-1], now)
    tx.run(
        put_session,
        of_number=row.number,
        tip=first + len(batch) - 1,
        ends=1,
        running=running,
        context=context,
        messages=row.messages + len(batch),
        active_at=said,
        active_s=said // 1_000_000,
    )
    return first, context


def _first_slot(tx: Tx, row: SessionRow, end: End, count: int) -> int:
    """Give the first position: after the end if that is ours and free, else in a new segment."""
    if (end.pos & MAX_DEPTH) + count > MAX_DEPTH:
        raise StoreError(f"a path holds at most {MAX_DEPTH} messages: fork it with detach=True")
    if end.pos and end.home == row.home and not end.is_followed:
        return end.pos + 1
    made = new_segment(tx, row.tree, row.home, end.pos)
    return made << DEPTH_BITS | (end.pos & MAX_DEPTH) + 1


def new_segment(tx: Tx, tree: int, home: int, parent: int) -> int:
    """Begin a segment under a position; give its number."""
    place = unpack_place(parent)
    lineage = extend_lineage(place, tx.lineage(place.segment) if place else [])
    return tx.add("segment", tree=tree, home=home, parent=parent, lineage=pack_lineage(lineage))


def _context_after(tx: Tx, row: SessionRow, end: End, added: int) -> int | None:
    """Give the context after an append; None when it is to be worked out when asked."""
    if end.pos == row.tip and row.context is not None:
        return row.context + added
    if not row.overlays and not is_edited(tx, row.tree):
        return end.path_tokens + added
    before = context_at(tx, row, end.pos, RECENT_STEPS)
    return None if before is None else before + added


def put_session(t: Tables) -> Any:
    """Give the statement that changes a session's figures."""
    return update(t.session).where(t.session.c.number == bindparam("of_number"))


def _contents(t: Tables) -> Any:
    m = t.message.c
    return select(m.pos, m.id, m.role, m.digest, m.body).where(
        m.tree == bindparam("tree"), m.pos.in_(bindparam("positions", expanding=True))
    )


def _two(t: Tables) -> Any:
    m = t.message.c
    pos = bindparam("pos", type_=m.pos.type)
    return select(m.pos, m.home, m.path_tokens).where(
        m.tree == bindparam("tree"), m.pos.between(pos, pos + 1)
    )
