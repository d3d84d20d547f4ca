"""Whatever a history looks like, what a model is given is valid: every call has its result."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..model import (
    Entry,
    Message,
    ModelMessage,
    Part,
    Summary,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

SUMMARY_HEADING = "[Summary of the conversation so far]\n"
INTERRUPTED = "[interrupted: the call was made, but its result is not known]"


def model_messages(entries: Sequence[Entry]) -> list[ModelMessage]:
    """Turn the entries of a history into what a model is shown.

    A summary becomes a message of the user's, under a heading, followed by its pinned messages.
    """
    shown: list[ModelMessage] = []
    for entry in entries:
        if isinstance(entry, Summary):
            parts: list[Part] = [TextPart(text=SUMMARY_HEADING + entry.text)]
            shown.append(ModelMessage(role="user", parts=parts))
            shown.extend(_as_shown(message) for message in entry.pinned)
        else:
            shown.append(_as_shown(entry))
    return shown


def is_summary(message: ModelMessage) -> bool:
    """Whether a message stands for a summary."""
    return message.id is None and message.text.startswith(SUMMARY_HEADING)


def _as_shown(message: Message) -> ModelMessage:
    return ModelMessage(
        id=message.id,
        role=message.role,
        parts=message.parts,
        metadata=message.metadata,
        name=message.name,
    )


def repair_messages(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Make messages valid for a model; what is valid already is not changed. Idempotent.

    A result belongs to the nearest call before it with its id. A result without one, a second
    result for a call, a call whose id its message has used already, and a message left empty are
    dropped. The results of a message's calls directly follow it: where other messages came in
    between, the results are moved up, out of their message if that says more. A call without a
    result is followed, after the other results, by one that says that it was interrupted.
    """
    answers = _ToolAnswers(messages)
    repaired: list[ModelMessage] = []
    for index, message in enumerate(messages):
        parts = answers.own_parts(index)
        if parts:
            same = len(parts) == len(message.parts)
            repaired.append(message if same else msgspec.structs.replace(message, parts=parts))
        repaired.extend(answers.following(index))
    return repaired


class _ToolAnswers:
    """Which result answers which call, and where each part of each message goes."""

    def __init__(self, messages: Sequence[ModelMessage]) -> None:
        self._messages = messages
        self._calls: list[dict[str, int | None]] = [{} for _ in messages]
        self._kept: list[list[tuple[Part, int]]] = [[] for _ in messages]
        nearest: dict[str, int] = {}
        for index, message in enumerate(messages):
            for part in message.parts:
                self._place(index, part, nearest)
        # The later messages that hold results of each one's calls, in order.
        self._moved = [
            sorted({at for at in calls.values() if at is not None} - {index})
            for index, calls in enumerate(self._calls)
        ]
        for index in range(len(messages)):
            self._settle(index)

    def _place(self, index: int, part: Part, nearest: dict[str, int]) -> None:
        """Decide whether a part is kept, and to the message at which index it belongs."""
        owner = index
        if isinstance(part, ToolCallPart):
            if part.call_id in self._calls[index]:
                return
            self._calls[index][part.call_id] = None
            nearest[part.call_id] = index
        elif isinstance(part, ToolResultPart):
            owner = nearest.get(part.call_id, -1)
            if owner < 0 or self._calls[owner][part.call_id] is not None:
                return
            self._calls[owner][part.call_id] = index
        self._kept[index].append((part, owner))

    def _settle(self, index: int) -> None:
        """Leave a message of results and text where it is, if it may stay there as it is."""
        carriers = self._moved[index]
        if not carriers or None in self._calls[index].values():
            return
        last = carriers[-1]
        if self._is_mixed(last, index) and self._stands_right(index, last):
            for number, (part, owner) in enumerate(self._kept[last]):
                if owner == index:
                    self._kept[last][number] = (part, last)
            carriers.pop()

    def _is_mixed(self, at: int, index: int) -> bool:
        return any(owner != index for _, owner in self._kept[at])

    def _stands_right(self, index: int, last: int) -> bool:
        """Whether only results stand between, and the results come first in the last."""
        between = range(index + 1, last)
        if any(owner != index for at in between for _, owner in self._kept[at]):
            return False
        if self._messages[last].role not in ("user", "tool"):
            return False
        owners = [owner for _, owner in self._kept[last]]
        results = owners.count(index)
        return owners[:results] == [index] * results and set(owners[results:]) == {last}

    def own_parts(self, index: int) -> list[Part]:
        """Return the parts of a message that stay in it."""
        return [part for part, owner in self._kept[index] if owner == index]

    def following(self, index: int) -> list[ModelMessage]:
        """Return the messages with results that follow a message."""
        calls = self._calls[index].items()
        return [
            *(self._carried(at, index) for at in self._moved[index]),
            *(
                ModelMessage(
                    role="tool",
                    parts=[ToolResultPart(call_id=call_id, output=INTERRUPTED, is_error=True)],
                )
                for call_id, at in calls
                if at is None
            ),
        ]

    def _carried(self, at: int, index: int) -> ModelMessage:
        message = self._messages[at]
        parts = [part for part, owner in self._kept[at] if owner == index]
        if len(parts) == len(message.parts):
            return message
        if self._is_mixed(at, index):
            return ModelMessage(role="tool", parts=parts)
        return msgspec.structs.replace(message, parts=parts)
