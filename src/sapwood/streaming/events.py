"""What is told of an answer while it streams in, alike for every vendor."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..model import NewMessage, Part, ToolCallPart, Usage

FinishReason = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "pause", "error", "cut", "other"
]
"""Why an answer ended; `cut` means that the stream ended before the answer did."""


class _StreamEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """What all events share."""


class TextEvent(_StreamEvent, frozen=True, kw_only=True, tag="text", gc=False):
    """The next piece of what the model says."""

    text: str


class ReasoningEvent(_StreamEvent, frozen=True, kw_only=True, tag="reasoning", gc=False):
    """The next piece of what the model thinks."""

    text: str


class RefusalEvent(_StreamEvent, frozen=True, kw_only=True, tag="refusal", gc=False):
    """The next piece of why the model will not answer; empty where the vendor does not say."""

    text: str


class CallStartEvent(_StreamEvent, frozen=True, kw_only=True, tag="call_start", gc=False):
    """The model begins to call a tool; one that is `served` runs at the vendor.

    `call_id` is never that of another call in the same answer.
    """

    call_id: str
    name: str
    served: bool = False


class ArgumentsEvent(_StreamEvent, frozen=True, kw_only=True, tag="arguments", gc=False):
    """The next piece of a call's arguments, as the model writes them."""

    call_id: str
    text: str


class CallEvent(_StreamEvent, frozen=True, kw_only=True, tag="call", gc=False):
    """A call that is complete, and to be run. Arguments that are not JSON are a string."""

    part: ToolCallPart


class PartEvent(_StreamEvent, frozen=True, kw_only=True, tag="part", gc=False):
    """Another part of the answer that is complete: what a tool gave, a file, or anything else.

    A call among these ran at the vendor.
    """

    part: Part


class UsageEvent(_StreamEvent, frozen=True, kw_only=True, tag="usage", gc=False):
    """What the call cost. Its id is the vendor's own, by which `add_usage` counts it once."""

    usage: Usage


class ErrorEvent(_StreamEvent, frozen=True, kw_only=True, tag="error", gc=False):
    """The vendor said in the stream that the answer failed."""

    message: str
    code: str | None = None


class DoneEvent(_StreamEvent, frozen=True, kw_only=True, tag="done", gc=False):
    """The end of an answer: always the last of its events, unless there was an exception.

    `message` is the whole answer, with all that its vendor wants back; after a cut, what came of
    it, without calls that are not complete. `said` is the vendor's own word for `reason`, `id` its
    id of the answer, and `usage` what was told of the cost, after a cut perhaps not all of it.
    """

    reason: FinishReason
    message: NewMessage
    said: str | None = None
    id: str | None = None
    usage: Usage | None = None


StreamEvent = (
    TextEvent
    | ReasoningEvent
    | RefusalEvent
    | CallStartEvent
    | ArgumentsEvent
    | CallEvent
    | PartEvent
    | UsageEvent
    | ErrorEvent
    | DoneEvent
)
