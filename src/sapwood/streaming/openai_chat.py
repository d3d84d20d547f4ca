"""Streams of OpenAI chat completions, and of the many servers that speak nearly the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..formats import from_openai_chat, usage_of_completion
from ..formats.client_values import plain
from ..formats.unmapped_fields import as_text
from ..model import NewMessage, ToolCallPart
from .events import (
    ArgumentsEvent,
    CallEvent,
    CallStartEvent,
    DoneEvent,
    FinishReason,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)
from .reader import NOTHING, StreamReader, fields_of, joined, merged

_THOUGHTS = ("reasoning_content", "reasoning")
_OF_CALL = ("index", "id", "type", "function", "custom")


class _CallDraft:
    """A call that comes in pieces. `sent_id` is what the server calls it."""

    def __init__(self, call_id: str, sent_id: Any, kind: str) -> None:
        self.call_id = call_id
        self.sent_id = sent_id
        self.kind = kind
        self.name = ""
        self.pieces: list[str] = []
        self.more: dict[str, Any] = {}

    def written(self) -> dict[str, Any]:
        field = "input" if self.kind == "custom" else "arguments"
        asked = {"name": self.name, field: joined(self.pieces)}
        return {"id": self.call_id, "type": self.kind, self.kind: asked, **self.more}


class ChatReader(StreamReader):
    """Reads chunks of a chat completion, and the events of the SDK's `stream()`."""

    reasons: ClassVar[Mapping[str, FinishReason]] = {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_calls",
        "function_call": "tool_calls",
        "content_filter": "content_filter",
    }

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._text: list[str] = []
        self._refused: list[str] = []
        self._thoughts: list[str] = []
        self._thought_field = ""
        self._more: dict[str, Any] = {}
        self._calls: list[_CallDraft] = []
        self._open: dict[Any, _CallDraft] = {}

    def read(self, item: Any) -> Sequence[StreamEvent]:
        """Return the events of an item."""
        chunk = fields_of(item)
        choices = chunk.get("choices")
        if choices is None:
            return self._read_other(chunk)
        if not self.id:
            self._begin(chunk)
        if chunk.get("usage") is not None:
            self.usage = usage_of_completion({**chunk, "id": self.id}, self.model) or self.usage
        for value in choices:
            choice = fields_of(value)
            if choice.get("index"):  # another answer to the same question
                continue
            events = self._read_delta(fields_of(choice.get("delta")))
            if choice.get("finish_reason"):
                self._end(choice["finish_reason"])
            return events
        return NOTHING

    def _read_other(self, fields: Mapping[str, Any]) -> Sequence[StreamEvent]:
        """Read an event of the SDK's, of which only the chunks say something new, or an error."""
        if fields.get("type") == "chunk":
            return self.read(fields["chunk"])
        return NOTHING if fields.get("error") is None else self._fail(fields["error"])

    def _read_delta(self, delta: Mapping[str, Any]) -> Sequence[StreamEvent]:
        events: list[StreamEvent] = []
        for key, value in delta.items():
            if value is None or value == "":
                continue
            # Some servers send the same thought under both names.
            if key == "reasoning" and delta.get("reasoning_content"):
                continue
            if key == "content" and isinstance(value, str):
                self._text.append(value)
                events.append(TextEvent(text=value))
            elif key == "tool_calls":
                for call in value:
                    events += self._read_call(fields_of(call))
            elif key != "role":
                events += self._read_field(key, value)
        return events

    def _read_field(self, key: str, value: Any) -> Sequence[StreamEvent]:
        if key == "refusal":
            self._refused.append(value)
            return (RefusalEvent(text=value),)
        if key not in _THOUGHTS or not isinstance(value, str):
            self._more[key] = merged(self._more.get(key), plain(value), key)
            return NOTHING
        self._thought_field = self._thought_field or key
        self._thoughts.append(value)
        return (ReasoningEvent(text=value),)

    def _read_call(self, value: Mapping[str, Any]) -> list[StreamEvent]:
        kind = "custom" if value.get("custom") is not None else "function"
        asked = fields_of(value.get(kind))
        name, piece = asked.get("name"), asked.get("input" if kind == "custom" else "arguments")
        call = self._draft(value, name, kind)
        for key, more in value.items():
            if key not in _OF_CALL and more is not None:
                call.more[key] = merged(call.more.get(key), plain(more), key)
        events: list[StreamEvent] = []
        if name and not call.name:
            call.name = name
            events.append(CallStartEvent(call_id=call.call_id, name=name))
        # Some servers send the arguments as an object.
        if text := as_text(plain(piece)):
            call.pieces.append(text)
            events.append(ArgumentsEvent(call_id=call.call_id, text=text))
        return events

    def _draft(self, value: Mapping[str, Any], name: Any, kind: str) -> _CallDraft:
        """Return the call that a piece belongs to.

        Some servers give all calls the same index, or none, and others a new id to each piece: a
        name together with another id, or without any index, begins a new call.
        """
        index, id = value.get("index"), value.get("id")
        call = self._open.get(index)
        is_other = (
            call is not None
            and name
            and call.name
            and (id != call.sent_id if id else index is None or name != call.name)
        )
        if call is None or is_other:
            call = _CallDraft(self._new_call_id(id), id, kind)
            self._calls.append(call)
            self._open[index] = call
        return call

    def finish(self) -> list[StreamEvent]:
        """Return the last events, once: with them all calls, since any may go on until then."""
        if self._reason == "stop" and (self._calls or "function_call" in self._more):
            self._reason = "tool_calls"
        elif self._reason == "stop" and self._refused:
            self._reason = "refusal"
        last = super().finish()
        done = last[-1] if last and self.is_whole else None
        parts = done.message.parts if isinstance(done, DoneEvent) else []
        return [*(CallEvent(part=it) for it in parts if isinstance(it, ToolCallPart)), *last]

    @property
    def message(self) -> NewMessage:
        """The answer as far as it came, without calls that are not complete."""
        message: dict[str, Any] = {"role": "assistant", "content": joined(self._text) or None}
        if self._thoughts:
            message[self._thought_field] = joined(self._thoughts)
        if self._refused:
            message["refusal"] = joined(self._refused)
        message |= {key: value for key, value in self._more.items() if key != "function_call"}
        if self.is_whole:
            if self._calls:
                message["tool_calls"] = [call.written() for call in self._calls]
            if "function_call" in self._more:
                message["function_call"] = self._more["function_call"]
        return from_openai_chat(message)[0]
