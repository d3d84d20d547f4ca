"""Appending, looking before each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ....model import (
    Appended,
    Position,
    Root,
)
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import MARK_DIGEST
from ...base.append_request import Request
from ...base.extras import NO_EXTRAS
from ...base.refusals import (
    path_full,
    refuse_stale_data,
)
from ..position import MAX_DEPTH, public, unpack_place
from ..rows import (
    HomeNames,
    SeenMessage,
    SessionRow,
    Touches,
    written,
)
from .data import data_at, marked, marks_among, own_data, with_data_at
from .documents import AsyncRelationalDocuments
from .extras import refuse_by_extras, refuse_closed, write_extras_after
from .lookup import get_pos, get_session
from .overlays import TOP, refuse_if_changed

if TYPE_CHECKING:
    from .dialect import AsyncDialect


async def append_planned(dialect: AsyncDialect, request: Request) -> Appended:
    """Append a batch, looking before each step."""
    owner, session, batch, parent, expected_tip, extras, on_known, snapshot, expected = request
    row = await get_session(dialect, owner, session, Touches.APPENDS)
    statements = dialect.messages
    asked = [it.id for it in batch if statements.may_have_landed or not it.is_ours]
    seen = await dialect.lookup.find_all_seen(row, asked)
    known = await _known(dialect, row, seen, parent)
    tip = await dialect.lookup.id_at(row, row.tip)
    above: Sequence[str | Root] = ()
    if expected_tip is not None:
        above = await marked(dialect, row, tip, [expected_tip, *(it.id for it in batch)])
    plan = plan_append(batch, known, tip, parent, expected_tip, on_known, above)
    stored = {seen[it.id].pos: it for it in plan.batch[: plan.known]}
    rows = await statements.rows_at(row, list(stored))
    names: HomeNames = {row.home: row.id}
    said = [rows[pos] for pos, it in stored.items() if not it.is_mark]
    messages = await statements.messages_of(row, said, names)
    messages = await with_data_at(dialect, row, messages)
    # An id that was made for this call can only be known because an earlier try of it landed.
    landed = sum(it.is_ours for it in stored.values())
    told = {pos: it.id for pos, it in stored.items() if not it.is_ours}
    new = plan.batch[plan.known :]
    if not new:
        return Appended(
            messages=messages,
            written=landed,
            tip=tip,
            documents=await AsyncRelationalDocuments(dialect).versions(row, extras.documents),
            known=list(told.values()),
            elsewhere=await _elsewhere(dialect, row, told, row.tip),
            data_at=None if request.data is None else public(seen[batch[-1].id].pos),
        )
    await refuse_by_extras(dialect, row, None, extras)
    refuse_closed(row)
    pos = row.tip if plan.parent is None else await get_pos(dialect, row, plan.parent)
    if (pos & MAX_DEPTH) + len(new) > MAX_DEPTH:
        raise path_full(MAX_DEPTH)
    await refuse_if_changed(dialect, row, snapshot, TOP, unpack_place(pos))
    held = await data_at(dialect, row, pos)
    refuse_stale_data(public(held) if held else None, expected)
    now = await dialect.now()
    first, context = await statements.write_after(row, pos, new, now)
    last = first + len(new) - 1
    if new[-1].data is not None:
        await dialect.data.put(row, last, held, new[-1].data)
    versions = await write_extras_after(dialect, owner, session, extras)
    return Appended(
        messages=messages + written(new, row.id, first, now, held),
        written=landed + len(new),
        tip=new[-1].id,
        documents=versions,
        # What comes along may change the record, and pins what is shown.
        context_tokens=context if extras is NO_EXTRAS else None,
        stamp=(row.version, row.created_at) if extras is NO_EXTRAS else None,
        known=list(told.values()),
        elsewhere=await _elsewhere(dialect, row, told, pos),
        data_at=_given_data_at(request, seen, new[-1].id, last),
    )


def _given_data_at(
    request: Request, seen: Mapping[str, SeenMessage], id: str, pos: int
) -> Position | None:
    """Return where the data stands that was given, of which the last that is new may be."""
    given = request.batch[-1].id
    if request.data is None:
        return None
    return public(pos if given == id else seen[given].pos)


async def _elsewhere(
    dialect: AsyncDialect, row: SessionRow, known: Mapping[int, str], leaf: int
) -> list[str]:
    """Return those of stored messages, by position, that are not on the path to a leaf."""
    on_path = await dialect.messages.on_path(row, list(known), leaf) if known else ()
    return [id for pos, id in known.items() if pos not in on_path]


async def _known(
    dialect: AsyncDialect,
    row: SessionRow,
    seen: dict[str, SeenMessage],
    asked: str | Root | None,
) -> dict[str, KnownMessage]:
    """Return the digests of known messages, and where it is asked for, their parents."""
    if not seen:
        return {}
    digests = await dialect.messages.first_digests(row, seen.values())
    parents: dict[int, str | Root] = {}
    if asked is not None:
        parents = await dialect.messages.parent_ids(row, [it.pos for it in seen.values()])
    marks = await marks_among(dialect, row, [it.pos for it in seen.values() if not it.is_live])
    digests |= dict.fromkeys(marks, MARK_DIGEST)
    data = await own_data(dialect, row, [it.pos for it in seen.values()])
    return {
        id: KnownMessage(digests[it.pos], parents.get(it.pos, ""), data.get(it.pos))
        for id, it in seen.items()
    }
