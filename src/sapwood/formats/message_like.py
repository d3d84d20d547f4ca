"""What can be written: stored messages, new ones, and those that a model is given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..errors import UsageError
from ..model import Message, ModelMessage, NewMessage, Part, Summary, ToolCallPart, ToolResultPart
from ..rules.wording import a_kind

PartIndex = tuple[int, int]

_OF_TOOLS: frozenset[type] = frozenset((ToolCallPart, ToolResultPart))


def has_tools(parts: Iterable[Part]) -> bool:
    """Whether there is a call or a result among parts."""
    return not _OF_TOOLS.isdisjoint(map(type, parts))


class MessageLike(Protocol):
    """A message of any kind: `Message`, `NewMessage` or `ModelMessage`."""

    @property
    def role(self) -> str: ...
    @property
    def parts(self) -> list[Part]: ...
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...


def checked_messages(messages: Iterable[MessageLike]) -> list[MessageLike]:
    """Check that these are messages, and put each result of their own calls after its call."""
    if isinstance(messages, (Message, NewMessage, ModelMessage)):
        messages = [messages]
    try:
        listed = list(messages)
    except TypeError:
        raise _not_messages(messages, "messages") from None
    called: set[str] = set()
    for index, message in enumerate(listed):
        if not isinstance(message, (Message, NewMessage, ModelMessage)):
            raise _not_messages(message, f"messages[{index}]")
        own = {part.call_id for part in message.parts if isinstance(part, ToolCallPart)}
        if own:
            if len(message.parts) > len(own):
                listed[index] = _with_results_after_calls(message, own - called)
            called |= own
    return listed


def _with_results_after_calls(message: MessageLike, own: set[str]) -> MessageLike:
    """Bring the results that stand before their call in the same message right after it.

    `own` was not called before: results of what was are not of the calls in this message.
    """
    early: dict[str, list[Part]] = {}
    ordered: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResultPart) and part.call_id in own:
            early.setdefault(part.call_id, []).append(part)
            continue
        ordered.append(part)
        if isinstance(part, ToolCallPart) and part.call_id in own:
            own.remove(part.call_id)
            ordered += early.get(part.call_id, ())
    if not early:
        return message
    return NewMessage(
        role=message.role,
        parts=ordered,
        metadata=message.metadata,
        id=message.id,
        name=message.name,
    )


def _not_messages(value: object, path: str) -> UsageError:
    if isinstance(value, Summary):
        advice = "a summary, and no message: give prepare().messages, which has it as one"
    else:
        advice = f"{a_kind(value)}: give messages, such as prepare().messages"
    return UsageError(f"{path} is {advice}", path=path)


def callers(rows: Sequence[Sequence[Part]]) -> dict[PartIndex, PartIndex]:
    """Find the call of each result: the nearest before it, since some models reuse their ids."""
    found: dict[PartIndex, PartIndex] = {}
    last: dict[str, PartIndex] = {}
    for row, parts in enumerate(rows):
        if not has_tools(parts):
            continue
        for column, part in enumerate(parts):
            if isinstance(part, ToolCallPart):
                last[part.call_id] = (row, column)
            elif isinstance(part, ToolResultPart) and part.call_id in last:
                found[row, column] = last[part.call_id]
    return found
