"""Appending: idempotent by id, at the tip or after a given message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...model import Appended, ChangeKind, Message, Root
from ...rules.append import AppendPlan, Known, plan_append
from ...rules.codec import Packed
from ...rules.tree import Place
from .feed import log
from .lookup import before, find_place, get_place, id_at, message_at, row_at
from .state import MessageRow, SessionRow, State
from .view import settle_sum
from .writing import open_segment, put_row


def append(
    state: State,
    session: SessionRow,
    batch: Sequence[Packed],
    parent: str | Root | None,
    expected_tip: str | Root | None,
) -> Appended:
    """Append what is new of a batch; nothing is changed before all of it is decided."""
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
        message.id: Known(row_at(state, place).digest, id_at(state, before(state, place)))
        for message, place in zip(batch, found, strict=True)
        if place is not None
    }
    return plan_append(batch, seen, id_at(state, session.tip), parent, expected_tip)


def _write(
    state: State, session: SessionRow, batch: Sequence[Packed], after: Place | None
) -> list[Place]:
    now = state.clock()
    segment = open_segment(state, session, after)
    places = []
    for message in batch:
        place = put_row(state, segment, _row(message, now))
        log(state, session, ChangeKind.APPEND, now, message.id, place.depth)
        places.append(place)
    _advance(state, session, after, places[-1], sum(message.tokens for message in batch))
    session.messages += len(batch)
    session.active_us = _said(batch[-1], now)
    return places


def _advance(
    state: State, session: SessionRow, after: Place | None, tip: Place, tokens: int
) -> None:
    """Move the tip; after the old one, what was shown stays and the new messages join it."""
    follows = after == session.tip
    session.tip = tip
    if follows and session.home not in state.stale:
        session.context_tokens += tokens
    else:
        settle_sum(state, session)


def _row(message: Packed, now: int) -> MessageRow:
    return MessageRow(
        id=message.id,
        role=message.role,
        body=message.body,
        digest=message.digest,
        tokens=message.tokens,
        version=1,
        created_us=_said(message, now),
    )


def _said(message: Packed, now: int) -> int:
    return now if message.created_us is None else message.created_us
