"""Appending as the contract says, whatever of a batch is known and wherever it goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....model import Appended, Root
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import Packed
from ...base.refusals import path_full
from ..position import MAX_DEPTH
from ..rows import HomeNames, SeenMessage, SessionRow, Touches, written
from .lookup import get_pos, get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect


async def append_planned(
    dialect: AsyncDialect,
    owner: str,
    session: str,
    batch: Sequence[Packed],
    parent: str | Root | None,
    expected_tip: str | Root | None,
) -> Appended:
    """Append a batch, looking before each step."""
    row = await get_session(dialect, owner, session, Touches.APPENDS)
    statements = dialect.messages
    asked = [it.id for it in batch if statements.may_have_landed or not it.is_ours]
    seen = await dialect.lookup.find_all_seen(row, asked)
    known = await _known(dialect, row, seen, parent)
    tip = await dialect.lookup.id_at(row, row.tip)
    plan = plan_append(batch, known, tip, parent, expected_tip)
    stored = [seen[it.id].pos for it in batch[: plan.known]]
    rows = await statements.rows_at(row, stored)
    names: HomeNames = {row.home: row.id}
    messages = await statements.messages_of(row, [rows[pos] for pos in stored], names)
    # An id that was made for this call can only be known because an earlier try of it landed.
    landed = sum(it.is_ours for it in batch[: plan.known])
    new = batch[plan.known :]
    if not new:
        return Appended(messages=messages, written=landed, tip=tip)
    pos = row.tip if plan.parent is None else await get_pos(dialect, row, plan.parent)
    if (pos & MAX_DEPTH) + len(new) > MAX_DEPTH:
        raise path_full(MAX_DEPTH)
    now = await dialect.now()
    first, context = await statements.write_after(row, pos, new, now)
    return Appended(
        messages=messages + written(new, row.id, first, now),
        written=landed + len(new),
        tip=new[-1].id,
        context_tokens=context,
        stamp=(row.version, row.created_at),
    )


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
    return {id: KnownMessage(digests[it.pos], parents.get(it.pos, "")) for id, it in seen.items()}
