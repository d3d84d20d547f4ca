"""A vendor's stream as typed events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

from ...calls import AsyncCall
from ...errors import UsageError
from ...event_loop import AsyncEntering
from ...model import NewMessage, Usage
from ...rules.wording import a_kind
from ..events import StreamEvent
from ..reader import StreamReader
from ..vendor import StreamAnswer


class AsyncEventStream(AsyncEntering):
    """The events of an answer, as a vendor's SDK streams it in. A context manager.

    `response` is what OpenAI's chat completions or responses, or Anthropic's messages, return with
    `stream=True`, or what their `stream()` does, also before it is entered; the same as plain
    objects; or strings. Whose it is, is seen by its first item. `model` names what usage is
    counted under when the vendor does not say. Nothing is read before it is asked for; leaving, or
    closing, closes the response. An exception of the SDK's comes through as it is.
    """

    def __init__(self, response: Any, *, model: str = "") -> None:
        is_whole = isinstance(response, (str, bytes, Mapping)) or hasattr(response, "model_dump")
        if is_whole or not (_is_stream(response) or hasattr(type(response), "__aenter__")):
            raise UsageError(
                f"response is {a_kind(response)}, and no stream for {type(self).__name__}:"
                " ask with stream=True; for an async client take AsyncEventStream, and give it "
                "what the call has given once it was awaited",
                path="response",
            )
        self._response = response
        self._answer = StreamAnswer(model)
        self._events = _events(response, self._answer)

    @property
    def message(self) -> NewMessage:
        """The answer as far as it came, without calls that are not complete."""
        return self._answer.reader.message

    @property
    def usage(self) -> Usage | None:
        """What the vendor said of the cost so far; None when nothing."""
        return self._answer.reader.usage

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self._events

    async def __anext__(self) -> StreamEvent:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Close the response."""
        await _close(self._events)
        await _close(self._response)

    async def __aenter__(self) -> Self:
        """Return the stream itself."""
        return self

    async def __aexit__(self, *details: object) -> None:
        """Close the response."""
        await self.aclose()


# Not a method: a loop that is left lets go of the stream, and with it of the response, at once.
async def _events(response: Any, answer: StreamAnswer) -> AsyncIterator[StreamEvent]:
    reader: StreamReader | None = None
    async with _opened(response) as source:
        async for item in source:
            reader = reader or answer.begin(item)
            for event in reader.read(item):
                yield event
        for event in answer.reader.finish():
            yield event


@asynccontextmanager
async def _opened(response: Any) -> AsyncIterator[Any]:
    try:
        if _is_stream(response):
            yield response
        else:
            async with response as source:
                yield source
    finally:
        await _close(response)


def _is_stream(response: Any) -> bool:
    return hasattr(type(response), "__aiter__")


async def _close(source: Any) -> None:
    close = getattr(source, "aclose", None) or getattr(source, "close", None)
    if close is not None:
        await AsyncCall.now(close)
