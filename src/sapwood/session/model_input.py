"""What a model is called with, made from a history: valid for it, and within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model import Entry, History, Message, ModelInput, ModelMessage, Summary, TextPart
from ..rules.tokens import TokenCounter, count_tokens, estimate_parts
from .shown_context import ShownContext

BYTES_FOR_A_TOKEN = 8
"""So much of the end of a history most likely fills a budget."""
LEAST_BYTES = 64 * 1024
MORE = 4
"""How many times more is read when the end that was read is too short."""


def input_of(
    history: History, budget: int | None, shown: ShownContext, counter: TokenCounter | None
) -> ModelInput:
    """Make it of a history, with what the blocks have to say at its end."""
    from ..compaction import fit_messages, model_messages, repair_messages

    before = model_messages(history.entries)
    messages = repair_messages(shown.elided(before))
    cost = _counter_of(history.entries, before, counter)
    said = (
        [ModelMessage(role="user", parts=[TextPart(text=shown.updates)])] if shown.updates else []
    )
    left_out: list[str] = []
    shortened: list[str] = []
    if budget is not None:
        summaries = [entry for entry in history.entries if isinstance(entry, Summary)]
        pinned = {message.id for summary in summaries for message in summary.pinned}
        room = shown.room_in(budget, sum(map(cost, said)))
        fitted = fit_messages(messages, room, cost, keep=pinned)
        messages, left_out, shortened = fitted.messages, fitted.left_out, fitted.shortened
    messages = [*messages, *said]
    return ModelInput(
        prompt=shown.prompt,
        messages=messages,
        tools=shown.tools,
        tokens=shown.tokens + sum(map(cost, messages)),
        budget=budget,
        left_out=left_out,
        shortened=shortened,
        updates=shown.updates,
        leaf=history.leaf,
        more=history.more,
    )


def _counter_of(
    entries: Sequence[Entry], shown: Sequence[ModelMessage], counter: TokenCounter | None
) -> Callable[[ModelMessage], int]:
    """Return what counts messages: by what is stored with them, or anew when they were changed."""
    stored = {
        message.id: message.tokens
        for entry in entries
        for message in ([entry] if isinstance(entry, Message) else entry.pinned)
    }
    # By the object: a copy that was shortened costs less than what is stored. The pair keeps the
    # object, so that no other one gets its address.
    known = {id(it): (stored[it.id], it) for it in shown if it.id in stored}

    def cost(message: ModelMessage) -> int:
        if id(message) in known:
            return known[id(message)][0]
        counted = count_tokens(counter, message.role, message.parts)
        return estimate_parts(message.parts) if counted is None else counted

    return cost


def is_long_enough(tail: History, made: ModelInput) -> bool:
    """Whether what was made from the end of a history is that of the whole.

    What is left out goes from the oldest on: when the first message that was read is among it,
    all that comes before it would be, too.
    """
    return not tail.more or tail.messages_only[0].id in made.left_out
