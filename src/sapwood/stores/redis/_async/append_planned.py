"""Appending as the contract says, whatever of a batch is stored already: look, plan, append."""

from __future__ import annotations

from ....model import ROOT, Appended, Message
from ....rules.append_plan import AppendPlan, KnownMessage, plan_append
from ...base.appends import Request
from ...base.refusals import no_message
from ..entries import message_of
from ..place_words import place_words
from .append import run_append
from .append_call import appended_of
from .context import AsyncRedisContext
from .look import Look, PlacedMessage, first_digest
from .trees import MovedError


async def append_planned(context: AsyncRedisContext, request: Request) -> Appended:
    """Append a batch as the contract says, whatever of it is known."""
    batch = request.batch
    ids = [it.id for it in batch]
    if isinstance(request.parent, str):
        ids.append(request.parent)
    look = await context.directory.look(request.owner, request.session, ids)
    seen = {id: it for id, it in zip(ids, look.places, strict=True) if it is not None}
    plan = _plan(request, look, seen)
    stored = [_stored(seen[it.id]) for it in batch[: plan.known]]
    new = batch[plan.known :]
    if not new:
        return Appended(messages=stored, written=0, tip=look.row.tip_id)
    rest = request._replace(batch=new)
    parent = _parent_words(request, plan, seen)
    state = f"{look.version} {look.appends}"
    answer = await run_append(context, rest, look.tree, state, parent)
    written = appended_of(context, rest, look.tree, answer)
    if written is None:
        raise MovedError(look.tree)
    return Appended(
        messages=[*stored, *written.messages],
        written=len(new),
        tip=written.tip,
        context_tokens=written.context_tokens,
        stamp=written.stamp,
    )


def _plan(request: Request, look: Look, seen: dict[str, PlacedMessage]) -> AppendPlan:
    known = {
        it.id: KnownMessage(first_digest(seen[it.id]), seen[it.id].parent or ROOT)
        for it in request.batch
        if it.id in seen
    }
    tip = look.row.tip_id
    return plan_append(request.batch, known, tip, request.parent, request.expected_tip)


def _parent_words(
    request: Request, plan: AppendPlan, seen: dict[str, PlacedMessage]
) -> tuple[str, str]:
    """Return the words for the place that what is new follows."""
    if not isinstance(plan.parent, str):
        return place_words(plan.parent)
    found = seen.get(plan.parent)
    if found is None:
        raise no_message(request.session, plan.parent)
    return "p", f"{found.segment} {found.depth}"


def _stored(place: PlacedMessage) -> Message:
    message = message_of(place.entry, str(place.segment), place.depth, place.session)
    assert message is not None, "a deleted message is refused"
    return message
