"""What can be written: stored messages, new ones, and those of a turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..errors import UsageError
from ..model import Message, NewMessage, Part, Summary, ToolCallPart, ToolResultPart, TurnMessage

Place = tuple[int, int]


class Said(Protocol):
    """A message of any kind: `Message`, `NewMessage` or `TurnMessage`."""

    @property
    def role(self) -> str: ...
    @property
    def parts(self) -> list[Part]: ...
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def id(self) -> str | None: ...


def said(messages: Iterable[Said]) -> list[Said]:
    """Check that these are messages."""
    if isinstance(messages, (Message, NewMessage, TurnMessage)):
        return [messages]
    try:
        listed = list(messages)
    except TypeError:
        raise _not_messages(messages, "messages") from None
    for index, message in enumerate(listed):
        if not isinstance(message, (Message, NewMessage, TurnMessage)):
            raise _not_messages(message, f"messages[{index}]")
    return listed


def _not_messages(value: object, path: str) -> UsageError:
    if isinstance(value, Summary):
        advice = "a summary, and no message: give prepare().messages, which has it as one"
    else:
        advice = f"a {type(value).__name__}: give messages, such as prepare().messages"
    return UsageError(f"{path} is {advice}", path=path)


def callers(rows: Sequence[Sequence[Part]]) -> dict[Place, Place]:
    """Find the call of each result: the nearest before it, since some models reuse their ids."""
    found: dict[Place, Place] = {}
    last: dict[str, Place] = {}
    for row, parts in enumerate(rows):
        for column, part in enumerate(parts):
            if isinstance(part, ToolCallPart):
                last[part.call_id] = (row, column)
            elif isinstance(part, ToolResultPart) and part.call_id in last:
                found[row, column] = last[part.call_id]
    return found
