"""Streams of parts of ours."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..model import NewMessage, Part, ReasoningPart, TextPart, ToolCallPart, Usage
from ..rules.wording import a_kind
from .events import (
    CallEvent,
    CallStartEvent,
    PartEvent,
    ReasoningEvent,
    StreamEvent,
    TextEvent,
)
from .reader import NOTHING, StreamReader


class PartReader(StreamReader):
    """Reads parts, of which texts and thoughts may be pieces, and what they cost."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._parts: list[Part] = []
        # What came since of the last part, joined when it is asked for.
        self._pieces: list[str] = []

    def read(self, item: Any) -> tuple[StreamEvent, ...]:
        """Return the events of an item."""
        match item:
            case Usage():
                self.usage, self.id = item, item.id
                return NOTHING
            case TextPart() | ReasoningPart():
                last = self._parts[-1] if self._parts else None
                if isinstance(last, type(item)) and not item.extra and not last.extra:
                    self._pieces.append(item.text)
                else:
                    self._add(item)
                kind = TextEvent if isinstance(item, TextPart) else ReasoningEvent
                return (kind(text=item.text),)
            case ToolCallPart():
                self._add(item)
                start = CallStartEvent(call_id=item.call_id, name=item.name)
                return (start, CallEvent(part=item))
            case _ if isinstance(item, Part):
                self._add(item)
                return (PartEvent(part=item),)
        raise UsageError(f"the stream gave {a_kind(item)} after parts", path="response")

    def finish(self) -> list[StreamEvent]:
        """Return the last events, once."""
        calls = any(isinstance(part, ToolCallPart) for part in self._parts)
        self._reason = "tool_calls" if calls else "stop"
        return super().finish()

    @property
    def message(self) -> NewMessage:
        """The parts as far as they came."""
        self._join()
        return NewMessage(role="assistant", parts=list(self._parts))

    def _add(self, part: Part) -> None:
        self._join()
        self._parts.append(part)

    def _join(self) -> None:
        if self._pieces:
            last = self._parts[-1]
            assert isinstance(last, (TextPart, ReasoningPart))
            self._parts[-1] = type(last)(text="".join([last.text, *self._pieces]))
            self._pieces = []
