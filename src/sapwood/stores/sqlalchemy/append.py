"""Messages that are written after a position, wherever that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select, update

from ...errors import StoreCorruptError
from ...rules.codec import Packed
from ...rules.tree import extend_lineage
from ..relational.position import (
    DEPTH_BITS,
    MAX_DEPTH,
    pack_lineage,
    unpack_place,
)
from ..relational.rows import SessionRow, said_at
from .sums import context_at, is_edited
from .tables import Tables
from .tx import Tx

RECENT_STEPS = 64
"""How many spans an append walks to know its context; beyond that it is worked out when asked,
until `finish_deletions` has done so."""


def message_row(
    it: Packed, *, owner: int, tree: int, pos: int, home: int, running: int, now: int
) -> dict[str, Any]:
    """Return a new message's row."""
    return {
        "tree": tree,
        "pos": pos,
        "owner": owner,
        "home": home,
        "id": it.id,
        "role": it.role,
        "tokens": it.tokens,
        "path_tokens": running,
        "version": 1,
        "created_at": said_at(it, now),
        "body": it.body,
    }


def write_after(
    tx: Tx, row: SessionRow, pos: int, batch: Sequence[Packed], now: int
) -> tuple[int, int | None]:
    """Write new messages after a position; return the first one's, and the context after them."""
    found: dict[int, tuple[int | None, int]] = {0: (None, 0)}
    if pos:
        found = {at: (home, sum) for at, home, sum in tx.rows(_two, tree=row.tree, pos=pos)}
    if pos not in found:
        raise StoreCorruptError(f"the message at position {pos} is missing")
    home, before = found[pos]
    if home == row.home and pos + 1 not in found:
        first = pos + 1
    else:
        made = new_segment(tx, row.tree, row.home, pos)
        first = made << DEPTH_BITS | (pos & MAX_DEPTH) + 1
    running, rows = before, []
    place = {"owner": row.owner, "tree": row.tree, "home": row.home}
    numbered = zip(batch, tx.next_seqs(len(batch)), strict=True)
    for slot, (it, seq) in enumerate(numbered, first):
        running += it.tokens
        rows.append(message_row(it, **place, pos=slot, running=running, now=now) | seq)
    tx.add_all("message", rows)
    context = _context_after(tx, row, pos, before, running - before)
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


def new_segment(tx: Tx, tree: int, home: int, parent: int) -> int:
    """Begin a segment under a position; return its number."""
    place = unpack_place(parent)
    lineage = extend_lineage(place, tx.lineage(place.segment) if place else [])
    return tx.add("segment", tree=tree, home=home, parent=parent, lineage=pack_lineage(lineage))


def _context_after(tx: Tx, row: SessionRow, pos: int, running: int, added: int) -> int | None:
    """Return the context after an append; None when it is to be worked out when asked."""
    if pos == row.tip and row.context is not None:
        return row.context + added
    if not row.overlays and not is_edited(tx, row.tree):
        return running + added
    before = context_at(tx, row, pos, RECENT_STEPS)
    return None if before is None else before + added


def put_session(t: Tables) -> Any:
    """Return the statement that changes a session's figures."""
    return update(t.session).where(t.session.c.number == bindparam("of_number"))


def _two(t: Tables) -> Any:
    m = t.message.c
    pos = bindparam("pos", type_=m.pos.type)
    return select(m.pos, m.home, m.path_tokens).where(
        m.tree == bindparam("tree"), m.pos.between(pos, pos + 1)
    )
