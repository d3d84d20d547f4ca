"""Events written for a browser."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Final, Protocol, overload

from .events import StreamEvent

SSE_HEADERS: Final = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    # What stands between must not hold back what was written.
    "x-accel-buffering": "no",
}
AI_SDK_HEADERS: Final = {**SSE_HEADERS, "x-vercel-ai-ui-message-stream": "v1"}


class EventWriter(Protocol):
    """Writes events one by one; the empty string for what has no words."""

    def write(self, event: StreamEvent | None) -> str:
        """Return an event as text; None means that there was none for long."""

    def fail(self) -> str:
        """Return what is said in place of an exception."""

    def end(self) -> str:
        """Return what is said at the end."""


@overload
def events_to_sse(
    events: AsyncIterable[StreamEvent], *, after: int = 0, heartbeat_s: float | None = 15
) -> AsyncIterator[str]: ...
@overload
def events_to_sse(
    events: Iterable[StreamEvent], *, after: int = 0, heartbeat_s: float | None = 15
) -> Iterator[str]: ...
def events_to_sse(events: Any, *, after: int = 0, heartbeat_s: float | None = 15) -> Any:
    """Write events as Server-Sent Events, each with its number as id, and at last an `end`.

    A client that comes back says as its `Last-Event-ID` which event it had last: given the same
    events from the start, those up to `after` are left out. A comment is written whenever nothing
    came for `heartbeat_s`, so that no proxy takes the connection for dead.
    """
    from .sse import SseWriter

    return _lines(events, SseWriter(after), heartbeat_s)


@overload
def events_to_ai_sdk(
    events: AsyncIterable[StreamEvent],
    *,
    message_id: str | None = None,
    heartbeat_s: float | None = 15,
) -> AsyncIterator[str]: ...
@overload
def events_to_ai_sdk(
    events: Iterable[StreamEvent], *, message_id: str | None = None, heartbeat_s: float | None = 15
) -> Iterator[str]: ...
def events_to_ai_sdk(
    events: Any, *, message_id: str | None = None, heartbeat_s: float | None = 15
) -> Any:
    """Write events as a UI message stream of the AI SDK (version 5 or later).

    Send it with `AI_SDK_HEADERS`. The events of several answers, with the results of tools
    between them as `PartEvent`, become one message of several steps.
    """
    from .ai_sdk import AiSdkWriter

    return _lines(events, AiSdkWriter(message_id), heartbeat_s)


def _lines(events: Any, writer: EventWriter, heartbeat_s: float | None) -> Any:
    if hasattr(type(events), "__aiter__"):
        from ._async.writing import AsyncWriting

        return AsyncWriting.lines(events, writer, heartbeat_s)
    from ._sync.writing import Writing

    return Writing.lines(events, writer, heartbeat_s)
