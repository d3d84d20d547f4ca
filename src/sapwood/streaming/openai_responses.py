"""Streams of OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ..formats import from_openai_responses, usage_of_response
from ..formats.client_values import plain
from ..formats.openai_responses import BETWEEN, as_one
from ..model import NewMessage, Part, ReasoningPart, TextPart, ToolCallPart
from .events import (
    ArgumentsEvent,
    CallEvent,
    CallStartEvent,
    FinishReason,
    PartEvent,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)
from .reader import NOTHING, StreamReader, fields_of, joined

_TEXT, _REFUSAL = "response.output_text.delta", "response.refusal.delta"
_SAID: dict[str, type[TextEvent] | type[RefusalEvent]] = {_TEXT: TextEvent, _REFUSAL: RefusalEvent}
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ARGUMENTS = (
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
    "response.mcp_call_arguments.delta",
)
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_NAMED_CALLS = ("function_call", "custom_tool_call", "mcp_call")


class _ItemDraft:
    """An item that comes in pieces, which stand under their event and number."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.kind = value.get("type")
        self.call_id = ""
        self.pieces: dict[tuple[str, Any], list[str]] = {}
        self.is_done = False

    def unfinished(self) -> list[NewMessage]:
        """Return what was said and thought, without what only the whole item has."""
        parts: list[Part] = []
        for (kind, _), pieces in self.pieces.items():
            as_part = ReasoningPart if kind in _THOUGHTS else TextPart
            parts.append(as_part(text=joined(pieces)))
        return [NewMessage(role="assistant", parts=parts)] if parts else []


class ResponseReader(StreamReader):
    """Reads the events of a response, and those of the SDK's `stream()`."""

    reasons: ClassVar[Mapping[str, FinishReason]] = {
        "completed": "stop",
        "max_output_tokens": "length",
        "content_filter": "content_filter",
        "failed": "error",
    }

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._items: dict[Any, _ItemDraft] = {}
        self._has_calls = False
        self._is_refused = False

    def read(self, item: Any) -> Sequence[StreamEvent]:
        """Return the events of an item."""
        event = fields_of(item)
        kind = event.get("type")
        if kind in _SAID or kind in _THOUGHTS:
            return self._say(kind, event)
        if kind in _ARGUMENTS:
            return self._read_arguments(event)
        if kind == "response.output_item.added":
            return self._added(event)
        if kind == "response.output_item.done":
            return list(self._done(event))
        if kind in _ENDS:
            return list(self._read_end(fields_of(event.get("response"))))
        if kind == "error":
            return self._fail(event.get("error") or event)
        if kind == "response.created":
            self._begin(fields_of(event.get("response")))
        return NOTHING

    def _draft(self, event: Mapping[str, Any]) -> _ItemDraft:
        index = event.get("output_index")
        if index not in self._items:
            self._items[index] = _ItemDraft(dict(plain(event.get("item") or {})))
        return self._items[index]

    def _say(self, kind: str, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        text = event.get("delta")
        if not text:
            return NOTHING
        item = self._draft(event)
        number = event.get("summary_index") if kind == _THOUGHTS[0] else event.get("content_index")
        if (kind, number) in item.pieces:
            item.pieces[kind, number].append(text)
            between = ""
        else:
            between = BETWEEN if item.pieces else ""
            item.pieces[kind, number] = [text]
        if kind in _THOUGHTS:
            return (ReasoningEvent(text=between + text),)
        self._is_refused = self._is_refused or kind == _REFUSAL
        return (_SAID[kind](text=text),)

    def _read_arguments(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        text, id = event.get("delta"), self._draft(event).call_id
        return (ArgumentsEvent(call_id=id, text=text),) if text and id else NOTHING

    def _added(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        item = self._draft(event)
        if item.kind not in _NAMED_CALLS:
            return NOTHING
        is_served = item.kind == "mcp_call"
        item.call_id = self._new_call_id(item.value.get("id" if is_served else "call_id"))
        name = str(item.value.get("name") or "")
        return (CallStartEvent(call_id=item.call_id, name=name, served=is_served),)

    def _done(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        item = self._draft(event)
        if item.kind in _NAMED_CALLS and not item.call_id:
            yield from self._added(event)
        item.value, item.is_done = dict(plain(event.get("item"))), True
        item.kind = item.value.get("type")
        if item.call_id:
            item.value["id" if item.kind == "mcp_call" else "call_id"] = item.call_id
        for part in as_one(from_openai_responses([item.value])).parts:
            if item.kind in ("message", "reasoning"):
                # Some servers send an item whole, without pieces.
                if not item.pieces and isinstance(part, (TextPart, ReasoningPart)) and part.text:
                    said = TextEvent if isinstance(part, TextPart) else ReasoningEvent
                    yield said(text=part.text)
            elif isinstance(part, ToolCallPart) and item.kind != "mcp_call":
                self._has_calls = True
                yield CallEvent(part=part)
            else:
                yield PartEvent(part=part)

    def _read_end(self, response: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._begin(response)
        for index, item in enumerate(response.get("output") or []):
            if index not in self._items or not self._items[index].is_done:
                yield from self._done({"output_index": index, "item": item})
        why = fields_of(response.get("incomplete_details")).get("reason")
        self._end(why or response.get("status"))
        if self._reason == "stop" and (self._has_calls or self._is_refused):
            self._reason = "tool_calls" if self._has_calls else "refusal"
        if self._reason == "error":
            yield from self._fail(response.get("error"))
        self.usage = usage_of_response(response, self.model)
        yield from self.finish()

    @property
    def message(self) -> NewMessage:
        """The answer as far as it came, without calls that are not complete."""
        messages: list[NewMessage] = []
        for _, item in sorted(self._items.items(), key=lambda it: it[0] or 0):
            messages += from_openai_responses([item.value]) if item.is_done else item.unfinished()
        return as_one(messages)
