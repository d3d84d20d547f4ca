"""What a model is called with: prompt, tools, what the blocks have to say, and the messages.

The messages are made from a history: valid for a model, and within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..errors import ContextOverflowError, UsageError
from ..model import (
    Entry,
    History,
    Message,
    ModelInput,
    ModelMessage,
    Summary,
    TextPart,
    ToolDefinition,
)
from ..rules import check
from ..rules.prompt import PromptBlock, render
from ..rules.tokens import TokenCounter, count_tokens, estimate_parts, estimate_text
from ..rules.wording import a_kind, counted

if TYPE_CHECKING:
    from ..context import Block, LoadedKey

BYTES_FOR_A_TOKEN = 8
"""So much of the end of a history most likely fills a budget."""
LEAST_BYTES = 64 * 1024
SENT_HEADING = "<context>\nAdded by the application, and not said by the user:\n\n"
SENT_END = "\n</context>"
MORE = 4
"""How many times more is read when the end that was read is too short."""


def _refuse_other_tool(tool: object, where: str) -> None:
    """Refuse what is no definition of a tool, and say how one is made of it."""
    if isinstance(tool, ToolDefinition):
        return
    made = "ToolDefinition(name=..., description=..., schema=...)"
    if isinstance(tool, Mapping):
        named = tool.get("function", tool)
        name = named.get("name") if isinstance(named, Mapping) else None
        made = made.replace("...", repr(name), 1) if isinstance(name, str) else made
        made += ", whose schema is the JSON Schema of its arguments"
    elif callable(tool):
        name = getattr(tool, "__name__", "...")
        made = made.replace("...", repr(name), 1) + ", and call the function yourself"
    raise UsageError(f"{where} is {a_kind(tool)}: give {made}", path=where)


class ShownContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context's part of an input; the default is that of a session without blocks."""

    prompt: str = ""
    tools: list[ToolDefinition] = []
    updates: str = ""
    loaded: Sequence[LoadedKey] | None = None

    @property
    def tokens(self) -> int:
        """What prompt and tools cost."""
        return estimate_text(self.prompt) + tokens_of_tools(self.tools)

    def with_tools(self, tools: Sequence[ToolDefinition]) -> ShownContext:
        """Add the caller's own tools after those of the blocks."""
        if not isinstance(tools, Sequence):
            raise UsageError(f"tools is {a_kind(tools)}: give a list", path="tools")
        taken = {tool.name for tool in self.tools}
        for index, tool in enumerate(tools):
            where = f"tools[{index}]"
            _refuse_other_tool(tool, where)
            check.name(tool.name, f"{where}.name")
            check.instance(tool.schema, dict, f"{where}.schema")
            if tool.name in taken:
                raise UsageError(
                    f"{where} has the name {tool.name!r}, as another tool has: rename it",
                    path=f"{where}.name",
                )
            taken.add(tool.name)
        return msgspec.structs.replace(self, tools=[*self.tools, *tools]) if tools else self

    def room_in(self, budget: int, updates: int) -> int:
        """Return how much of a budget is left for the messages; so much the updates cost."""
        tokens = self.tokens + updates
        if tokens > budget:
            raise ContextOverflowError(
                f"the prompt and the tools alone need {counted(tokens, 'token')}, and the budget "
                f"is {budget}: raise the budget, or limit the blocks by max_tokens"
            )
        return budget - tokens

    def elided(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Leave out what was loaded once and is loaded no more."""
        if self.loaded is None:
            return messages
        from ..context import elide_unloaded

        return elide_unloaded(messages, self.loaded)


def tokens_of_tools(tools: list[ToolDefinition]) -> int:
    """Estimate what the definitions of tools cost."""
    return estimate_text(msgspec.json.encode(tools).decode()) if tools else 0


def prompt_of(blocks: Sequence[Block]) -> str:
    """Render blocks as a freeze would: what is not frozen yet is counted as it will be."""
    from ..context.provider import strongest_kind

    return render(
        [
            PromptBlock(
                label=block.label,
                description=block.description,
                content=block.content,
                tokens=block.tokens,
                max_tokens=block.max_tokens,
                kind=strongest_kind(block.searchable, block.loadable, block.writable),
            )
            for block in blocks
        ]
    ).text


def input_of(
    history: History, budget: int | None, shown: ShownContext, counter: TokenCounter | None
) -> ModelInput:
    """Make it of a history, with what the blocks have to say at its end."""
    from ..compaction import fit_messages, model_messages, repair_messages

    stored = _stored_messages(history.entries)
    sent = {it.id: it.extra["sent"] for it in stored if isinstance(it.extra.get("sent"), str)}
    if any(shown.updates in text for text in sent.values()):
        shown = msgspec.structs.replace(shown, updates="")
    before = [_with_sent(it, sent.get(it.id or "")) for it in model_messages(history.entries)]
    messages = repair_messages(shown.elided(before))
    counted = {it.id: it.tokens for it in stored if it.id not in sent}
    cost = _counter_of(counted, before, counter)
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


def _stored_messages(entries: Sequence[Entry]) -> list[Message]:
    return [
        message
        for entry in entries
        for message in ([entry] if isinstance(entry, Message) else entry.pinned)
    ]


def _with_sent(message: ModelMessage, sent: str | None) -> ModelMessage:
    """Put what was sent along with a user's message before what the user said."""
    if sent is None:
        return message
    part = TextPart(text=SENT_HEADING + sent + SENT_END)
    return msgspec.structs.replace(message, parts=[part, *message.parts])


def _counter_of(
    stored: dict[str, int], shown: Sequence[ModelMessage], counter: TokenCounter | None
) -> Callable[[ModelMessage], int]:
    """Return what counts messages: by what is stored with them, or anew when they were changed."""
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
