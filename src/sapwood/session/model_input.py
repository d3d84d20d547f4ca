"""What a model is called with: prompt, tools, what the blocks have to say, and the messages.

The messages are made from a history: valid for a model, and within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
from ..rules.turns import is_said_by_user
from ..rules.wording import a_kind, counted

if TYPE_CHECKING:
    from ..compaction.fit import Fitted
    from ..context import Block, LoadedKey
    from ..context.prompt_document import BlockNote, BlockUpdate, PromptStanding

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
    loaded: Sequence[LoadedKey] | None = None
    standing: PromptStanding | None = None
    describe: Callable[[Sequence[BlockUpdate]], str] = lambda changes: ""

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

    def room_in(self, budget: int) -> int:
        """Return how much of a budget is left for the messages."""
        if self.tokens > budget:
            raise ContextOverflowError(
                f"the prompt and the tools alone need {counted(self.tokens, 'token')}, and the "
                f"budget is {budget}: raise the budget, or limit the blocks by max_tokens"
            )
        return budget - self.tokens

    def notes_on(self, messages: Collection[str]) -> list[BlockNote]:
        """Return what is told along with some messages, the oldest first."""
        if self.standing is None:
            return []
        return [note for note in self.standing.frozen.notes if note.message in messages]

    def changes_beside(self, notes: Sequence[BlockNote]) -> list[BlockUpdate]:
        """Return the blocks of which neither the prompt nor these notes tell what they hold."""
        if self.standing is None:
            return []
        from ..context.prompt_document import untold

        told = {label: digest for note in notes for label, digest in note.blocks.items()}
        return untold(self.standing.blocks, told)

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


class MadeInput(NamedTuple):
    """An input, and what it tells for the first time of changed blocks."""

    input: ModelInput
    note: BlockNote | None


def input_of(
    history: History,
    budget: int | None,
    shown: ShownContext,
    counter: TokenCounter | None,
    cache_key: str | None = None,
) -> MadeInput:
    """Make it of a history, and tell along with its question what changed in the blocks."""
    from ..compaction.fit import Fitted

    stored = {it.id: it for it in _stored_messages(history.entries)}
    told_by, asked = set(stored), _asked_last(history.entries)
    room = None if budget is None else shown.room_in(budget)
    while True:
        notes, note, updates = _notes(shown, told_by, asked)
        messages, cost = _shown_messages(history.entries, stored, shown, notes, counter)
        if room is None:
            fitted = Fitted(messages=messages, left_out=[], shortened=[], tokens=0)
            break
        fitted = _fit(history.entries, messages, room, cost)
        unseen = told_by.intersection(fitted.left_out)
        if not unseen.intersection(it.message for it in notes):
            break
        # What a message told that is left out, another has to tell.
        told_by -= unseen
    given = ModelInput(
        prompt=shown.prompt,
        messages=fitted.messages,
        tools=shown.tools,
        tokens=shown.tokens + sum(map(cost, fitted.messages)),
        budget=budget,
        left_out=fitted.left_out,
        shortened=fitted.shortened,
        updates=updates,
        leaf=history.leaf,
        more=history.more,
        cache_key=cache_key,
    )
    return MadeInput(given, note)


def _notes(
    shown: ShownContext, told_by: Collection[str], asked: str | None
) -> tuple[list[BlockNote], BlockNote | None, str]:
    """Return what is told along with the messages, what of it is new, and what nobody tells.

    A question is where a model hears of it and does not answer it. While there is none at the end,
    it waits: put further up it would cost the cache of all that follows.
    """
    notes = shown.notes_on(told_by)
    changes = shown.changes_beside(notes)
    text = shown.describe(changes) if changes else ""
    if not changes or asked is None:
        return notes, None, text
    from ..context.prompt_document import BlockNote

    digests = {change.label: change.digest for change in changes}
    note = BlockNote(message=asked, text=text, blocks=digests)
    return [*notes, note], note, ""


def _asked_last(entries: Sequence[Entry]) -> str | None:
    """Return the id of what the user said, if nothing follows it."""
    match entries:
        case [*_, Message(parts=[_, *_]) as last] if is_said_by_user(last):
            return last.id
    return None


def _shown_messages(
    entries: Sequence[Entry],
    stored: Mapping[str, Message],
    shown: ShownContext,
    notes: Sequence[BlockNote],
    counter: TokenCounter | None,
) -> tuple[list[ModelMessage], Callable[[ModelMessage], int]]:
    """Return the messages with what is sent along with them, and what counts them."""
    from ..compaction import model_messages, repair_messages

    sent: dict[str, list[str]] = {
        it.id: [it.extra["sent"]] for it in stored.values() if isinstance(it.extra.get("sent"), str)
    }
    for note in notes:
        sent.setdefault(note.message, []).append(note.text)
    before = [_with_sent(it, sent.get(it.id or "")) for it in model_messages(entries)]
    counted = {id: it.tokens for id, it in stored.items() if id not in sent}
    return repair_messages(shown.elided(before)), _counter_of(counted, before, counter)


def _fit(
    entries: Sequence[Entry],
    messages: Sequence[ModelMessage],
    room: int,
    cost: Callable[[ModelMessage], int],
) -> Fitted:
    from ..compaction import fit_messages

    summaries = [entry for entry in entries if isinstance(entry, Summary)]
    pinned = {message.id for summary in summaries for message in summary.pinned}
    return fit_messages(messages, room, cost, keep=pinned)


def _stored_messages(entries: Sequence[Entry]) -> list[Message]:
    return [
        message
        for entry in entries
        for message in ([entry] if isinstance(entry, Message) else entry.pinned)
    ]


def _with_sent(message: ModelMessage, sent: Sequence[str] | None) -> ModelMessage:
    """Put what was sent along with a user's message before what the user said."""
    if sent is None:
        return message
    part = TextPart(text=SENT_HEADING + "\n\n".join(sent) + SENT_END)
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
