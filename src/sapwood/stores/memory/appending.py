"""Appending: idempotent by id, at the tip or after a given message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...model import Appended, ChangeKind, Message, Root
from ...rules.append_plan import AppendPlan, KnownMessage, plan_append
from ...rules.codec import Packed
from ...rules.tree import Place
from .feed import new_change
from .lookup import before, find_place, get_place, id_at, message_at, row_at
from .state import MessageRow, SessionRow, State
from .view import settle_sum
from .writing import put_rows, segment_after


def append(
    state: State,
    session: SessionRow,
    batch: Sequence[Packed],
    parent: str | Root | None,
    expected_tip: str | Root | None,
) -> Appended:
    """Append what is new of a batch: all of it, or nothing when an error or interrupt comes."""
    found = [find_place(state, session, message.id) for message in batch]
    plan = _plan(state, session, batch, found, parent, expected_tip)
    places = [place for place in found if place is not None]
    context = None
    if plan.known < len(batch):
        after = session.tip if plan.parent is None else get_place(state, session, plan.parent)
        places += _write(state, session, batch[plan.known :], after)
        context = session.context_tokens
    return Appended(
        messages=[cast(Message, message_at(state, place)) for place in places],
        written=len(batch) - plan.known,
        tip=id_at(state, session.tip),
        context_tokens=context,
        stamp=(session.version, session.created_us),
    )


def _plan(
    state: State,
    session: SessionRow,
    batch: Sequence[Packed],
    found: Sequence[Place | None],
    parent: str | Root | None,
    expected_tip: str | Root | None,
) -> AppendPlan:
    seen = {
        message.id: KnownMessage(row_at(state, place).digest, id_at(state, before(state, place)))
        for message, place in zip(batch, found, strict=True)
        if place is not None
    }
    return plan_append(batch, seen, id_at(state, session.tip), parent, expected_tip)


def _write(
    state: State, session: SessionRow, batch: Sequence[Packed], after: Place | None
) -> list[Place]:
    now = state.clock()
    # After the tip, what was shown stays and the new messages join it.
    is_sum_known = after == session.tip and session.home not in state.stale
    segment = segment_after(state, session, after)
    changes = [
        new_change(state, session, ChangeKind.APPEND, now, message.id, depth)
        for depth, message in enumerate(batch, segment.last + 1)
    ]
    tokens = sum(message.tokens for message in batch)
    rows = [_row(message, now) for message in batch]
    places = put_rows(state, session, segment, rows, changes)
    session.active_us = rows[-1].created_us
    if is_sum_known:
        session.context_tokens += tokens
        state.stale.discard(session.home)
    else:
        settle_sum(state, session)
    return places


def _row(message: Packed, now: int) -> MessageRow:
    return MessageRow(
        id=message.id,
        role=message.role,
        body=message.body,
        digest=message.digest,
        tokens=message.tokens,
        version=1,
        created_us=now if message.created_us is None else message.created_us,
    )
