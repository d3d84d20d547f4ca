"""Streams of Anthropic's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ..formats import from_anthropic, usage_of_message
from ..formats.anthropic import NAME
from ..formats.client_values import plain
from ..formats.tool_outputs import call_of
from ..model import NewMessage, Part, ReasoningPart, ToolCallPart
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
from .reader import NOTHING, StreamReader, fields_of, joined, merged

_SERVED = ("server_tool_use", "mcp_tool_use")
_CALLS = ("tool_use", *_SERVED)
_SAID: dict[str, type[TextEvent] | type[ReasoningEvent]] = {
    "text": TextEvent,
    "thinking": ReasoningEvent,
}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking"}


class _BlockDraft:
    """A block that comes in pieces. `part` is what it is read as, where its format would not."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.kind = value.get("type")
        self.pieces: list[str] = []
        self.is_done = False
        self.part: Part | None = None

    def close(self) -> None:
        """Take up the pieces."""
        text, self.is_done = joined(self.pieces), True
        if self.kind in _SAID:
            self.value[self.kind] = text
        elif self.kind in _CALLS:
            if not isinstance(self.value.get("input"), dict):
                self.value["input"] = {}
            if text:
                call = call_of(self.value["id"], self.value.get("name") or "", text, NAME)
                if isinstance(call.input, dict):
                    self.value["input"] = call.input
                else:
                    self.part = call


class MessageReader(StreamReader):
    """Reads the events of a message, and those of the SDK's `stream()`."""

    reasons: ClassVar[Mapping[str, FinishReason]] = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "tool_use": "tool_calls",
        "refusal": "refusal",
        "pause_turn": "pause",
    }

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._blocks: dict[Any, _BlockDraft] = {}
        self._counts: dict[str, Any] = {}

    def read(self, item: Any) -> Sequence[StreamEvent]:
        """Return the events of an item."""
        event = fields_of(item)
        match event.get("type"):
            case "content_block_delta":
                return self._read_delta(event)
            case "content_block_start":
                return self._start(event)
            case "content_block_stop":
                return self._stop(self._blocks.get(event.get("index")))
            case "message_start":
                message = fields_of(event.get("message"))
                self._begin(message)
                self._count(message.get("usage"))
            case "message_delta":
                self._count(event.get("usage"))
                return self._read_end(fields_of(event.get("delta")))
            case "message_stop":
                return self.finish()
            case "error":
                return self._fail(event.get("error"))
        return NOTHING

    def _start(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        block = _BlockDraft(dict(plain(event.get("content_block"))))
        self._blocks[event.get("index")] = block
        if block.kind in _CALLS:
            block.value["id"] = id = self._new_call_id(block.value.get("id"))
            name, served = str(block.value.get("name") or ""), block.kind in _SERVED
            return (CallStartEvent(call_id=id, name=name, served=served),)
        return self._say(block, block.value.get(block.kind)) if block.kind in _SAID else NOTHING

    def _say(self, block: _BlockDraft, text: Any) -> Sequence[StreamEvent]:
        if not isinstance(text, str) or not text:
            return NOTHING
        block.pieces.append(text)
        return (_SAID[str(block.kind)](text=text),)

    def _read_delta(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        delta = fields_of(event.get("delta"))
        kind = delta.get("type")
        block = self._blocks.get(event.get("index"))
        if block is None and kind in _DELTAS:
            # Some servers do not say that a block begins.
            block = self._blocks[event.get("index")] = _BlockDraft({"type": _DELTAS[kind]})
        if block is None:
            return NOTHING
        if kind in _DELTAS:
            return self._say(block, delta.get(_DELTAS[kind]))
        if kind == "input_json_delta" and block.kind in _CALLS:
            text = delta.get("partial_json")
            block.pieces += [text] if text else []
            return (ArgumentsEvent(call_id=block.value["id"], text=text),) if text else NOTHING
        for key, value in delta.items():
            if key == "citation":
                cited = block.value.get("citations") or []
                block.value["citations"] = [*cited, plain(value)]
            elif key != "type" and value is not None:
                block.value[key] = merged(block.value.get(key), plain(value), key)
        return NOTHING

    def _stop(self, block: _BlockDraft | None) -> Sequence[StreamEvent]:
        if block is None or block.is_done:
            return NOTHING
        block.close()
        if block.kind in _SAID or block.kind in _SERVED or block.kind == "redacted_thinking":
            return NOTHING
        if block.kind == "tool_use":
            [call] = _parts([block])
            assert isinstance(call, ToolCallPart)
            return (CallEvent(part=call),)
        # What a tool at the vendor gave comes with its call, which is no call of ours without.
        id = block.value.get("tool_use_id")
        pair = [it for it in self._blocks.values() if id is not None and it.value.get("id") == id]
        return [PartEvent(part=part) for part in _parts([*pair, block])]

    def _read_end(self, delta: Mapping[str, Any]) -> Sequence[StreamEvent]:
        self._end(delta.get("stop_reason"))
        # Some servers do not say that a block ends.
        events = [it for block in self._blocks.values() for it in self._stop(block)]
        if self._reason == "refusal":
            why = fields_of(delta.get("stop_details")).get("explanation")
            events.append(RefusalEvent(text=why if isinstance(why, str) else ""))
        return events

    def _count(self, usage: Any) -> None:
        """Keep the counts: each is a total, and those that are left out stay as they were."""
        counts = plain(usage) if usage is not None else {}
        self._counts |= {name: count for name, count in counts.items() if count is not None}
        answer = {"id": self.id, "model": self.model, "usage": self._counts}
        self.usage = usage_of_message(answer) if self._counts else None

    @property
    def message(self) -> NewMessage:
        """The answer as far as it came, without calls that are not complete."""
        there = [
            it for it in self._blocks.values() if it.is_done or (it.kind in _SAID and it.pieces)
        ]
        return _message(there)


def _parts(blocks: list[_BlockDraft]) -> list[Part]:
    return _message(blocks).parts


def _message(blocks: list[_BlockDraft]) -> NewMessage:
    content: list[dict[str, Any]] = []
    instead: dict[int, Part] = {}
    for block in blocks:
        if block.part is not None:
            instead[len(content)] = block.part
        elif not block.is_done and block.kind == "thinking":
            # Without its signature the vendor would not take it back.
            instead[len(content)] = ReasoningPart(text=joined(block.pieces))
        value = block.value
        if not block.is_done:
            value = {**value, str(block.kind): joined(block.pieces)}
        content.append(value)
    [message] = from_anthropic({"role": "assistant", "content": content})
    parts = [instead.get(index, part) for index, part in enumerate(message.parts)]
    return msgspec.structs.replace(message, parts=parts)
