"""The turns of a history: what the user says, and all that follows until the user speaks again."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..model import Message, ModelMessage, NewMessage, ToolCallPart, ToolResultPart
from . import check

AnyMessage = Message | NewMessage | ModelMessage
NO_ANSWER = ("user", "tool", "system", "developer")


def turn_starts(messages: Sequence[AnyMessage]) -> list[int]:
    """Return the index of the first message of each turn.

    A turn begins at the first message, and where the user speaks after somebody else did. Results
    of tools that are sent in the user's name are not the user's words.
    """
    said = [is_said_by_user(message) for message in messages]
    return [at for at in range(len(said)) if at == 0 or (said[at] and not said[at - 1])]


def place_before_last_turns(messages: Sequence[AnyMessage], turns: int) -> int | None:
    """Return the index of the message that the last `turns` turns follow; None means `ROOT`.

    The messages are a whole path, from its root. Of one that was cut at its start, it is right as
    long as it is not None. Raises `UsageError` when there are fewer turns.
    """
    check.count(turns, "turns", 1)
    starts = turn_starts(messages)
    if not starts:
        raise UsageError("there is no turn before the tip: nothing was said yet", path="turns")
    if turns > len(starts):
        raise UsageError(
            f"{turns} turns are too many: the path has {len(starts)}, so give at most that",
            path="turns",
        )
    start = starts[-turns]
    return start - 1 if start else None


def is_said_by_user(message: AnyMessage) -> bool:
    if message.role != "user":
        return False
    return not message.parts or not all(isinstance(part, ToolResultPart) for part in message.parts)


def answers_turn(message: Message | NewMessage) -> bool:
    """Whether a turn may end with a message: the model says something, and calls nothing more."""
    if message.role in NO_ANSWER or not message.parts:
        return False
    called = {part.call_id for part in message.parts if isinstance(part, ToolCallPart)}
    done = {part.call_id for part in message.parts if isinstance(part, ToolResultPart)}
    return called <= done
