"""Streams of plain text."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..model import NewMessage, TextPart, Usage
from ..rules.wording import a_kind
from .events import StreamEvent, TextEvent
from .reader import NOTHING, StreamReader, joined


class TextReader(StreamReader):
    """Reads pieces of text, whose end is the answer's, and what they cost."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._pieces: list[str] = []

    def read(self, item: Any) -> tuple[StreamEvent, ...]:
        """Return the events of an item."""
        if isinstance(item, Usage):
            self.usage, self.id = item, item.id
            return NOTHING
        if not isinstance(item, str):
            raise UsageError(f"the stream gave {a_kind(item)} after text", path="response")
        if not item:
            return NOTHING
        self._pieces.append(item)
        return (TextEvent(text=item),)

    def finish(self) -> list[StreamEvent]:
        """Return the last events, once."""
        self._reason = "stop"
        return super().finish()

    @property
    def message(self) -> NewMessage:
        """The text as far as it came."""
        text = joined(self._pieces)
        return NewMessage(role="assistant", parts=[TextPart(text=text)] if text else [])
