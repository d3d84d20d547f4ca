"""What a model is called with, made from a history: valid for it, and within a budget."""

from __future__ import annotations

from ..model import History, ModelInput, ModelMessage, TextPart
from ..rules.tokens import TokenCounter
from .costs import Costs, pinned_in
from .shown_context import ShownContext


def input_of(
    history: History, limit: int | None, shown: ShownContext, counter: TokenCounter | None
) -> ModelInput:
    """Make it of a history, with what is shown of the blocks."""
    from ..compaction import model_messages, repair_messages

    shown_messages = model_messages(history.entries)
    messages = repair_messages(shown.elided(shown_messages))
    return _within(limit, history, shown, messages, Costs(history.entries, shown_messages, counter))


def _within(
    budget: int | None,
    history: History,
    shown: ShownContext,
    messages: list[ModelMessage],
    costs: Costs,
) -> ModelInput:
    """Make it fit its budget, with what the blocks have to say at its end."""
    left_out: list[str] = []
    shortened: list[str] = []
    said = (
        [ModelMessage(role="user", parts=[TextPart(text=shown.updates)])] if shown.updates else []
    )
    if budget is not None:
        from ..compaction import fit_messages

        pinned = {message.id for message in pinned_in(history)}
        room = shown.room_in(budget, sum(costs.of(message) for message in said))
        fitted = fit_messages(messages, room, costs.of, keep=pinned)
        messages, left_out, shortened = fitted.messages, fitted.left_out, fitted.shortened
    messages = [*messages, *said]
    return ModelInput(
        prompt=shown.prompt,
        messages=messages,
        tools=shown.tools,
        tokens=shown.tokens + sum(costs.of(message) for message in messages),
        budget=budget,
        left_out=left_out,
        shortened=shortened,
        updates=shown.updates,
        leaf=history.leaf,
        more=history.more,
    )
