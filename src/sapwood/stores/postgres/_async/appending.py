"""Appending: in one call to the server where all is new, else planned step by step."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import StoreError
from ....model import ROOT, Appended, Root
from ....rules.append import Known, plan_append
from ....rules.codec import Packed, decode_body, digest
from ...base.appends import Request
from ...relational.position import MAX_DEPTH
from ...relational.rows import SeenMessage, SessionRow
from ..fresh import COLUMN_TYPES, columns, written
from ..words import body_words
from .lookup import find_all_seen, get_pos, get_session, id_at, messages_of, rows_at
from .tx import AsyncTx

_APPEND = (
    "SELECT start, now_us FROM {s}.append(%s, %s, %s::bigint, %s::text[], %s, %s, %s, %s,"
    f" {COLUMN_TYPES})"
)
_ONE = (
    "SELECT start, now_us FROM {s}.append_one(%s, %s, %s::bigint, %s, %s, %s, %s::bigint,"
    " %s::bigint, %s, %s)"
)
_EACH = (
    "SELECT nths, starts, now_us FROM {s}.append_each(%s::text[], %s::text[], %s::bigint,"
    f" %s::boolean[], {COLUMN_TYPES})"
)
_WRITE = f"SELECT {{s}}.write_after(%s, %s, %s, %s, {COLUMN_TYPES})"


async def append_new(tx: AsyncTx, request: Request, *, is_repeated: bool) -> Appended | None:
    """Append a batch that is all new; None, and nothing written, when it has to be planned.

    When it is repeated because a connection was lost, our own ids may be stored, too.
    """
    owner, session, batch, parent, expected_tip = request
    if request.is_plain:
        return await _append_one(tx, request, is_repeated)
    asked = [it.id for it in batch if is_repeated or not it.is_ours]
    if len(asked) > 1 and len(set(asked)) < len(asked):
        return None
    places = (*_named(parent), *_named(expected_tip))
    args = (owner, session, _time(tx), asked, *places, *columns(batch))
    [found] = await tx.call(_APPEND, args)
    return _appended(request, *found)


async def _append_one(tx: AsyncTx, request: Request, is_repeated: bool) -> Appended | None:
    it = request.batch[0]
    is_asked = is_repeated or not it.is_ours
    words = body_words(it.body, it.id)
    said = (it.id, it.role, it.tokens, it.created_us, it.body, words)
    args = (request.owner, request.session, _time(tx), is_asked, *said)
    [found] = await tx.call(_ONE, args)
    return _appended(request, *found)


async def append_each(
    tx: AsyncTx, requests: Sequence[Request], *, is_repeated: bool
) -> list[Appended | None]:
    """Append one message for each request, in one transaction; None for those to be planned."""
    batch = [request.batch[0] for request in requests]
    owners = [request.owner for request in requests]
    sessions = [request.session for request in requests]
    asked = [is_repeated or not it.is_ours for it in batch]
    args = (owners, sessions, _time(tx), asked, *columns(batch))
    [(nths, starts, now)] = await tx.call(_EACH, args)
    start_of = dict(zip(nths, starts, strict=True))
    return [_appended(request, start_of[n], now) for n, request in enumerate(requests, 1)]


def _time(tx: AsyncTx) -> int | None:
    return tx.clock() if tx.clock is not None else None


def _appended(request: Request, start: int | None, now: int) -> Appended | None:
    if start is None:
        return None
    batch = request.batch
    messages = written(batch, request.session, start, now)
    return Appended(messages=messages, written=len(batch), tip=batch[-1].id)


def _named(place: str | Root | None) -> tuple[str | None, bool]:
    return (place if isinstance(place, str) else None), place is ROOT


async def append_planned(
    tx: AsyncTx,
    owner: str,
    session: str,
    batch: Sequence[Packed],
    parent: str | Root | None,
    expected_tip: str | Root | None,
) -> Appended:
    """Append a batch as the contract says, whatever of it is known."""
    row = await get_session(tx, owner, session)
    seen = await find_all_seen(tx, row, [it.id for it in batch])
    known = await _known(tx, row, seen, parent)
    tip = await id_at(tx, row.tree, row.tip)
    plan = plan_append(batch, known, tip, parent, expected_tip)
    stored = [seen[message.id].pos for message in batch[: plan.known]]
    rows = await rows_at(tx, row.tree, stored)
    messages = await messages_of(tx, row.tree, [rows[pos] for pos in stored], {row.home: row.id})
    new = batch[plan.known :]
    # An id that was made for this call can only be known because an earlier try of it landed.
    landed = sum(it.is_ours for it in batch[: plan.known])
    if not new:
        return Appended(messages=messages, written=landed, tip=tip)
    pos = row.tip if plan.parent is None else await get_pos(tx, row, plan.parent)
    if (pos & MAX_DEPTH) + len(new) > MAX_DEPTH:
        raise StoreError(f"a path holds at most {MAX_DEPTH} messages: fork it with detach=True")
    now = await tx.now()
    start = await tx.value(_WRITE, (row.tree, row.number, pos, now, *columns(new)))
    messages += written(new, row.id, start, now)
    return Appended(messages=messages, written=landed + len(new), tip=new[-1].id)


async def _known(
    tx: AsyncTx, row: SessionRow, seen: dict[str, SeenMessage], asked: str | Root | None
) -> dict[str, Known]:
    """Give the digests of known messages, and where it is asked for, their parents."""
    rows = await tx.rows(
        "SELECT m.id, m.role, m.digest, m.body, p.id FROM {s}.message m"
        " LEFT JOIN {s}.message p ON p.tree = m.tree AND p.pos = {s}.parent_of(m.tree, m.pos)"
        " WHERE m.tree = %s AND m.pos = ANY (%s::bigint[])",
        (row.tree, [it.pos for it in seen.values()]),
    )
    known = {}
    for id, role, kept, body, parent in rows:
        first = kept
        if kept is None and body is not None:
            first = digest(role, decode_body(body, id))
        known[id] = Known(first, "" if asked is None else ROOT if parent is None else parent)
    return known
