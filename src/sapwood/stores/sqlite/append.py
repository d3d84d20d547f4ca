"""The append: the one thing that happens all the time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ...model import Appended
from ...rules.codec import Packed
from ...rules.tree import extend_lineage
from ..relational.position import DEPTH_BITS, MAX_DEPTH, pack_lineage, unpack_place
from ..relational.rows import SessionRow, said_at, written
from .checksum import checksum
from .connection import Connection
from .feed import KIND_APPEND, record_change
from .lookup import missing_message
from .standing import put_standing
from .sums import context_at

RECENT_STEPS = 64
"""How many spans an append walks to know its context; beyond that it is worked out when asked,
until `finish_deletions` has done so."""

_EXTENDABLE = (
    "SELECT s.number, s.owner, s.home, s.active_s, s.lead, t.pos, t.path_tokens, s.version,"
    " s.created_at"
    " FROM owner o JOIN session s ON s.owner = o.number"
    f" JOIN message t ON t.pos BETWEEN s.tip AND s.tip | {MAX_DEPTH}"
    " WHERE o.name = ?1 AND s.id = ?2 AND s.grows AND (s.fork = 0 OR ?3 IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM message WHERE home = s.home AND id = ?3)"
    " ORDER BY t.pos DESC LIMIT 1"
)
_INTO = "INSERT INTO message VALUES"
_ROW = "(?, ?, ?, ?, ?, ?, NULL, 1, ?, ?, ?)"
_INSERT = f"{_INTO} {_ROW}"
_RECORD_ONE = (
    "INSERT INTO change (owner, session, kind, first, last, at)"
    f" VALUES (?, ?, {KIND_APPEND}, ?, ?, ?)"
)
_KEEP_TIME = "UPDATE session SET tip = ?, active_at = ?, active_s = ? WHERE number = ?"


def extend(tx: Connection, owner: str, session: str, it: Packed) -> Appended | None:
    """Put one new message after a tip that is the end of a segment of the session's own.

    This is what nearly every append is. None when it is not: then nothing was written.
    """
    found = tx.first(_EXTENDABLE, (owner, session, None if it.is_ours else it.id))
    if found is None or found[5] & MAX_DEPTH == MAX_DEPTH:
        return None
    number, owner_number, home, active_s, lead, tip, running, version, created = found
    now, pos, tokens = tx.clock(), tip + 1, it.tokens
    said = now if it.created_us is None else it.created_us
    tx.run(_INSERT, _row(it, pos, home, running + tokens, said))
    tx.run(_RECORD_ONE, (owner_number, number, pos, pos, now))
    if said // 1_000_000 != active_s:
        tx.run(_KEEP_TIME, (pos, said, said // 1_000_000, number))
    context = None if lead is None else lead + running + tokens
    return Appended(
        messages=written([it], session, pos, now),
        written=1,
        tip=it.id,
        context_tokens=context,
        stamp=(version, created),
    )


def write_after(
    tx: Connection, row: SessionRow, pos: int, batch: Sequence[Packed], now: int
) -> tuple[int, int | None]:
    """Write new messages after a position; return the first one's, and the context after them."""
    home, tokens_before, is_followed = _end_at(tx, pos) if pos else (None, 0, 0)
    if home == row.home and not is_followed:
        first = pos + 1
    else:
        first = new_segment(tx, row.home, pos) << DEPTH_BITS | (pos & MAX_DEPTH) + 1
    last = first + len(batch) - 1
    running = list(accumulate((it.tokens for it in batch), initial=tokens_before))
    rows = [
        _row(it, at, row.home, tokens, said_at(it, now))
        for at, it, tokens in zip(range(first, last + 1), batch, running[1:], strict=True)
    ]
    tx.insert_all(_INTO, _ROW, rows)
    record_change(tx, row, KIND_APPEND, first, last, now)
    context = _context_after(tx, row, pos, tokens_before, running[-1])
    messages = row.messages + len(batch)
    said = said_at(batch[-1], now)
    moved = row._replace(tip=last, context=context, messages=messages, active_at=said)
    put_standing(tx, moved, grows=True)
    return first, context


def _end_at(tx: Connection, pos: int) -> tuple[int, int, int]:
    """Return a message's home, the tokens up to it, and whether the position after it is taken."""
    found: tuple[int, int, int] | None = tx.row(
        "SELECT home, path_tokens, EXISTS (SELECT 1 FROM message WHERE pos = m.pos + 1)"
        " FROM message m WHERE pos = ?",
        (pos,),
    )
    if found is None:
        raise missing_message(pos)
    return found


def new_segment(tx: Connection, home: int, parent: int) -> int:
    """Begin a segment under a position; return its number."""
    place = unpack_place(parent)
    lineage = extend_lineage(place, tx.lineage(place.segment) if place else [])
    number: int = tx.value(
        "INSERT INTO segment (home, parent, lineage) VALUES (?, ?, ?) RETURNING number",
        (home, parent, pack_lineage(lineage)),
    )
    return number


def _row(it: Packed, pos: int, home: int, running: int, said: int) -> tuple[Any, ...]:
    id, role, tokens, body = it.id, it.role, it.tokens, it.body
    kept = checksum((pos, home, id, role, tokens, 1, said, body))
    return pos, home, id, role, tokens, running, said, body, kept


def _context_after(
    tx: Connection, row: SessionRow, pos: int, tokens_before: int, tokens_after: int
) -> int | None:
    """Return the context after an append; None when it is to be worked out when asked."""
    added = tokens_after - tokens_before
    if pos == row.tip and row.context is not None:
        return row.context + added
    if not row.overlays and not row.edited:
        return tokens_after
    before = context_at(tx, row, pos, RECENT_STEPS)
    if before is None:
        tx.run("INSERT OR IGNORE INTO stale VALUES (?)", (row.tree,))
        return None
    return before + added
