"""What each message of an input costs: as stored with it, or counted when it was changed."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Entry, History, Message, ModelMessage, Summary
from ..rules.tokens import TokenCounter, count_tokens, estimate_parts


class Costs:
    """Counts the messages of one input."""

    def __init__(
        self, entries: Sequence[Entry], shown: Sequence[ModelMessage], counter: TokenCounter | None
    ) -> None:
        stored = {message.id: message.tokens for message in _messages_in(entries)}
        # By the object: a copy that was shortened costs less than what is stored.
        self._known = {id(message): stored[message.id] for message in shown if message.id in stored}
        self._shown = shown  # kept, so that no other object gets one of these addresses
        self._counter = counter

    def of(self, message: ModelMessage) -> int:
        """Count a message."""
        known = self._known.get(id(message))
        if known is not None:
            return known
        counted = count_tokens(self._counter, message.role, message.parts)
        return estimate_parts(message.parts) if counted is None else counted


def pinned_in(history: History) -> list[Message]:
    """Give the pinned messages that are shown after their summaries."""
    return [it for entry in history.entries if isinstance(entry, Summary) for it in entry.pinned]


def _messages_in(entries: Sequence[Entry]) -> list[Message]:
    flat: list[Message] = []
    for entry in entries:
        flat.extend([entry] if isinstance(entry, Message) else entry.pinned)
    return flat
