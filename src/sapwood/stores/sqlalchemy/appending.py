"""Writing messages after a position, wherever that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update

from ...rules.codec import Packed
from ...rules.tree import extend_lineage
from ..relational.position import (
    DEPTH_BITS,
    MAX_DEPTH,
    pack_lineage,
    unpack_place,
)
from ..relational.rows import SessionRow, said_at
from .fresh import message_row
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


def _end_at(tx: Tx, tree: int, pos: int) -> End:
    if not pos:
        return End(0, None, 0, False)
    rows = {found: (home, running) for found, home, running in tx.rows(_two, tree=tree, pos=pos)}
    home, running = rows[pos]
    return End(pos, home, running, pos + 1 in rows)


def write_after(
    tx: Tx, row: SessionRow, pos: int, batch: Sequence[Packed], now: int
) -> tuple[int, int | None]:
    """Write new messages after a position; return the first one's, and the context after them."""
    end = _end_at(tx, row.tree, pos)
    first = _first_slot(tx, row, end)
    running, rows = end.path_tokens, []
    for slot, it in enumerate(batch, first):
        running += it.tokens
        place = {"owner": row.owner, "tree": row.tree, "pos": slot, "home": row.home}
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


def _first_slot(tx: Tx, row: SessionRow, end: End) -> int:
    """Return the first position: after the end if that is ours and free, else in a new segment."""
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


def _two(t: Tables) -> Any:
    m = t.message.c
    pos = bindparam("pos", type_=m.pos.type)
    return select(m.pos, m.home, m.path_tokens).where(
        m.tree == bindparam("tree"), m.pos.between(pos, pos + 1)
    )
