"""Appending: the one thing that happens all the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
until `settle` has done so."""

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


class End(NamedTuple):
    """The message to append after, and whether the position after it is taken."""

    pos: int
    home: int | None
    path_tokens: int
    is_followed: bool


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


def _end_at(tx: Connection, pos: int) -> End:
    if not pos:
        return End(0, None, 0, False)
    found = tx.row(
        "SELECT home, path_tokens, EXISTS (SELECT 1 FROM message WHERE pos = m.pos + 1)"
        " FROM message m WHERE pos = ?",
        (pos,),
    )
    if found is None:
        raise missing_message(pos)
    home, path_tokens, is_followed = found
    return End(pos, home, path_tokens, bool(is_followed))


def write_after(
    tx: Connection, row: SessionRow, pos: int, batch: Sequence[Packed], now: int
) -> tuple[int, int | None]:
    """Write new messages after a position; return the first one's, and the context after them."""
    end = _end_at(tx, pos)
    first = _first_slot(tx, row, end)
    last = first + len(batch) - 1
    total = _insert(tx, row, batch, first, end.path_tokens, now)
    record_change(tx, row, KIND_APPEND, first, last, now)
    context = _context_after(tx, row, end, total)
    messages = row.messages + len(batch)
    said = said_at(batch[-1], now)
    moved = row._replace(tip=last, context=context, messages=messages, active_at=said)
    put_standing(tx, moved, grows=True)
    return first, context


def _first_slot(tx: Connection, row: SessionRow, end: End) -> int:
    """Return the first position: after the end if that is ours and free, else in a new segment."""
    if end.pos and end.home == row.home and not end.is_followed:
        return end.pos + 1
    return new_segment(tx, row.home, end.pos) << DEPTH_BITS | (end.pos & MAX_DEPTH) + 1


def new_segment(tx: Connection, home: int, parent: int) -> int:
    """Begin a segment under a position; give its number."""
    place = unpack_place(parent)
    lineage = extend_lineage(place, tx.lineage(place.segment) if place else [])
    number: int = tx.value(
        "INSERT INTO segment (home, parent, lineage) VALUES (?, ?, ?) RETURNING number",
        (home, parent, pack_lineage(lineage)),
    )
    return number


def _insert(
    tx: Connection, row: SessionRow, batch: Sequence[Packed], first: int, running: int, now: int
) -> int:
    """Insert the rows; give the sum of their tokens."""
    start, rows = running, []
    for pos, it in enumerate(batch, first):
        running += it.tokens
        said = said_at(it, now)
        rows.append(_row(it, pos, row.home, running, said))
    tx.insert_all(_INTO, _ROW, rows)
    return running - start


def _row(it: Packed, pos: int, home: int, running: int, said: int) -> tuple[Any, ...]:
    id, role, tokens, body = it.id, it.role, it.tokens, it.body
    kept = checksum((pos, home, id, role, tokens, 1, said, body))
    return pos, home, id, role, tokens, running, said, body, kept


def _context_after(tx: Connection, row: SessionRow, end: End, added: int) -> int | None:
    """Give the context after an append; None when it is to be worked out when asked."""
    if end.pos == row.tip and row.context is not None:
        return row.context + added
    if not row.overlays and not row.edited:
        return end.path_tokens + added
    before = context_at(tx, row, end.pos, RECENT_STEPS)
    if before is None:
        tx.run("INSERT OR IGNORE INTO stale VALUES (?)", (row.tree,))
        return None
    return before + added
