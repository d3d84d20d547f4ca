"""The streams of the vendors' SDKs as typed events, and these written for a browser."""

from ._async.event_stream import AsyncEventStream
from ._sync.event_stream import EventStream
from .events import (
    ArgumentsEvent,
    CallEvent,
    CallStartEvent,
    DoneEvent,
    ErrorEvent,
    FinishReason,
    PartEvent,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
    UsageEvent,
)
from .written import AI_SDK_HEADERS, SSE_HEADERS, events_to_ai_sdk, events_to_sse

__all__ = [
    "AI_SDK_HEADERS",
    "SSE_HEADERS",
    "ArgumentsEvent",
    "AsyncEventStream",
    "CallEvent",
    "CallStartEvent",
    "DoneEvent",
    "ErrorEvent",
    "EventStream",
    "FinishReason",
    "PartEvent",
    "ReasoningEvent",
    "RefusalEvent",
    "StreamEvent",
    "TextEvent",
    "UsageEvent",
    "events_to_ai_sdk",
    "events_to_sse",
]
