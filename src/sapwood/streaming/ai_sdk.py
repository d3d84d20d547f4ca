"""Events as the AI SDK's UI message stream, which `useChat` reads."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.ai_sdk import write_part
from ..formats.unmapped_fields import Json, as_text
from ..model import FilePart, Part, ToolCallPart, ToolResultPart
from .events import (
    ArgumentsEvent,
    CallEvent,
    CallStartEvent,
    DoneEvent,
    ErrorEvent,
    PartEvent,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)
from .sse import FAILED, HEARTBEAT, as_json


class AiSdkWriter:
    """Writes one UI message, of one step for each answer.

    The results of tools, which come after the answer that asked for them, are of its step.
    """

    def __init__(self, message_id: str | None) -> None:
        self._message_id = message_id
        self._has_begun = False
        self._in_step = False
        self._is_answered = False
        self._open: str | None = None
        self._texts = 0

    def write(self, event: StreamEvent | None) -> str:
        """Return the chunks of an event as text; a comment when there was none for long."""
        return HEARTBEAT if event is None else _lines(self._chunks(event))

    def fail(self) -> str:
        """Return what is said in place of an exception, whose text is not for everybody."""
        return self.write(ErrorEvent(message=FAILED)) + "data: [DONE]\n\n"

    def end(self) -> str:
        """Return the last chunks."""
        chunks = [*self._begin(), *self._end_step(), {"type": "finish"}]
        return _lines(chunks) + "data: [DONE]\n\n"

    def _begin(self) -> Iterator[Json]:
        if not self._has_begun:
            self._has_begun = True
            named = {} if self._message_id is None else {"messageId": self._message_id}
            yield {"type": "start", **named}

    def _end_step(self) -> Iterator[Json]:
        if self._in_step:
            self._in_step = False
            yield from self._close()
            yield {"type": "finish-step"}

    def _chunks(self, event: StreamEvent) -> Iterator[Json]:
        yield from self._begin()
        is_result = isinstance(event, PartEvent) and isinstance(event.part, ToolResultPart)
        if self._is_answered and not is_result:
            yield from self._end_step()
        if not self._in_step:
            self._in_step, self._is_answered = True, False
            yield {"type": "start-step"}
        match event:
            case TextEvent(text=text) | RefusalEvent(text=text):
                yield from self._say("text", text)
            case ReasoningEvent(text=text):
                yield from self._say("reasoning", text)
            case DoneEvent(reason=reason):
                self._is_answered = True
                yield from self._close()
                if reason == "cut":
                    yield {"type": "error", "errorText": "The answer was cut off."}
            case _:
                yield from self._close()
                yield from _chunks_of(event)

    def _say(self, kind: str, text: str) -> Iterator[Json]:
        if not text:
            return
        if self._open != kind:
            yield from self._close()
            self._open = kind
            self._texts += 1
            yield {"type": f"{kind}-start", "id": str(self._texts)}
        yield {"type": f"{kind}-delta", "id": str(self._texts), "delta": text}

    def _close(self) -> Iterator[Json]:
        if self._open is not None:
            yield {"type": f"{self._open}-end", "id": str(self._texts)}
            self._open = None


def _lines(chunks: Iterator[Json] | list[Json]) -> str:
    return "".join(f"data: {as_json(chunk)}\n\n" for chunk in chunks)


def _chunks_of(event: StreamEvent) -> Iterator[Json]:
    """Yield the chunks of what is no text."""
    match event:
        case CallStartEvent(call_id=id, name=name, served=served):
            begun = {"type": "tool-input-start", "toolCallId": id, "toolName": name}
            yield {**begun, "providerExecuted": True} if served else begun
        case ArgumentsEvent(call_id=id, text=text):
            yield {"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": text}
        case CallEvent(part=call):
            yield _call_chunk(call)
        case PartEvent(part=part):
            yield _part_chunk(part)
        case ErrorEvent(message=message, code="retry"):
            # An error would end the stream for its reader, and the answer goes on.
            yield {"type": "data-retry", "data": {"message": message}, "transient": True}
        case ErrorEvent(message=message):
            yield {"type": "error", "errorText": message}


def _call_chunk(call: ToolCallPart) -> Json:
    asked = {"toolCallId": call.call_id, "toolName": call.name, "input": call.input}
    return {"type": "tool-input-available", **asked}


def _part_chunk(part: Part) -> Json:
    match part:
        case ToolCallPart():
            return {**_call_chunk(part), "providerExecuted": True}
        case ToolResultPart(call_id=id, output=output, is_error=True):
            return {"type": "tool-output-error", "toolCallId": id, "errorText": as_text(output)}
        case ToolResultPart(call_id=id, output=output):
            return {"type": "tool-output-available", "toolCallId": id, "output": output}
        case _:
            chunk = write_part(part, native=False)
            if isinstance(part, FilePart):
                # The stream has no names of files.
                chunk.pop("filename", None)
            return chunk
