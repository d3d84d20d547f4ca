"""Whether messages are valid for a model. Apart from the repair, so that each checks the other."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import ModelMessage, ToolCallPart, ToolResultPart


def is_valid_input(messages: Sequence[ModelMessage]) -> bool:
    """Tell whether every call is answered at once, and every answer has its call.

    No message is empty. The results of a message's calls stand in it, after the calls, or in the
    messages that directly follow, one for each call, before anything else is said. Where a
    message of the user's or a tool's holds results and more, the results come first.
    """
    waiting: set[str] = set()
    for message in messages:
        after = _after(message, waiting)
        if after is None:
            return False
        waiting = after
    return not waiting


def _after(message: ModelMessage, waiting: set[str]) -> set[str] | None:
    """Give the calls that wait after a message; None when it may not stand here."""
    earlier, own, used = set(waiting), set[str](), set[str]()
    said = answered = False
    for part in message.parts:
        if isinstance(part, ToolResultPart) and part.call_id in own:
            own.remove(part.call_id)
        elif isinstance(part, ToolResultPart):
            if said or part.call_id not in earlier:
                return None
            earlier.remove(part.call_id)
            answered = True
        elif earlier or (answered and message.role not in ("user", "tool")):
            return None
        else:
            said = True
            if isinstance(part, ToolCallPart):
                if part.call_id in used:
                    return None
                own.add(part.call_id)
                used.add(part.call_id)
    return earlier | own if message.parts else None
