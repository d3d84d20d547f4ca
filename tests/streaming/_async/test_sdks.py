"""What the vendors' SDKs make of real streams over HTTP."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from endpoint import Endpoint, Stream, messages, responses

from sapwood import ReasoningPart
from sapwood.errors import UsageError
from sapwood.streaming import (
    AsyncEventStream,
    DoneEvent,
    ErrorEvent,
    EventStream,
    ReasoningEvent,
    StreamEvent,
)

from .. import answers
from .conftest import Ask


def wire(vendor: str, items: list[Any], **more: Any) -> Stream:
    """Send items as the vendor does."""
    events = items if vendor == "openai_chat" else responses.on_the_wire(items)
    return Stream(events, **more)


async def told_by(events: AsyncEventStream) -> list[StreamEvent]:
    return [event async for event in events if event is not None]


async def test_the_events_are_those_of_the_plain_objects(
    vendor: str, endpoint: Endpoint, ask: Ask
) -> None:
    items = answers.ALL[vendor]()
    endpoint.prepare(wire(vendor, items))
    async with AsyncEventStream(await ask()) as events:
        assert await told_by(events) == list(EventStream(items))


async def test_events_come_before_the_answer_is_whole(
    vendor: str, endpoint: Endpoint, ask: Ask
) -> None:
    items = answers.ALL[vendor]()
    endpoint.prepare(wire(vendor, items[: len(items) // 2], hangs=True))
    async with AsyncEventStream(await ask()) as events:
        first = await anext(events)
        assert isinstance(first, ReasoningEvent)
        [part] = events.message.parts
        assert isinstance(part, ReasoningPart)
        assert part.text == first.text == "Look "[: len(part.text)]


async def test_a_stream_that_ends_early_is_cut(vendor: str, endpoint: Endpoint, ask: Ask) -> None:
    items = answers.ALL[vendor]()
    endpoint.prepare(wire(vendor, items[: len(items) // 2]))
    async with AsyncEventStream(await ask()) as events:
        *_, done = await told_by(events)
    assert isinstance(done, DoneEvent)
    assert done.reason == "cut"


async def test_an_error_of_the_connection_comes_through(
    vendor: str, endpoint: Endpoint, ask: Ask
) -> None:
    items = answers.ALL[vendor]()
    endpoint.prepare(wire(vendor, items[:5], drops=True))
    events = AsyncEventStream(await ask())
    with pytest.raises(Exception, match=r"[Cc]onnection|peer closed"):
        await told_by(events)
    assert events.message.role == "assistant"
    await events.aclose()


async def test_an_error_that_the_sdk_raises_in_a_stream_comes_through(
    vendor: str, endpoint: Endpoint, ask: Ask
) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    items = [*answers.ALL[vendor]()[:4], error]
    endpoint.prepare(wire(vendor, items))
    events = AsyncEventStream(await ask())
    with pytest.raises((openai.APIError, anthropic.APIError), match="Overloaded"):
        await told_by(events)


@pytest.mark.parametrize("way", ["raw"])
async def test_leaving_closes_the_response(
    vendor: str, way: str, endpoint: Endpoint, ask: Ask
) -> None:
    for leave_early in (True, False):
        endpoint.prepare(wire(vendor, answers.ALL[vendor](), hangs=leave_early))
        response = await ask()
        async with AsyncEventStream(response) as events:
            async for _ in events:
                if leave_early:
                    break
        assert response.response.is_closed


@pytest.mark.parametrize("way", ["raw"])
async def test_a_stream_that_was_never_read_is_closed(
    vendor: str, way: str, endpoint: Endpoint, ask: Ask
) -> None:
    endpoint.prepare(wire(vendor, answers.ALL[vendor](), hangs=True))
    response = await ask()
    events = AsyncEventStream(response)
    await events.aclose()
    assert response.response.is_closed


async def test_what_is_no_stream_is_refused() -> None:
    for wrong in ("text", b"x", {"choices": []}, None, messages.message("hello"), 1):
        with pytest.raises(UsageError) as caught:
            AsyncEventStream(wrong)
        assert caught.value.path == "response"


async def test_a_response_that_did_not_fail_although_the_vendor_says_so() -> None:
    async def source() -> Any:
        yield {"type": "error", "code": "server_error", "message": "Sorry"}

    events = await told_by(AsyncEventStream(source()))
    assert events[0] == ErrorEvent(message="Sorry", code="server_error")
    assert isinstance(events[1], DoneEvent)
    assert (events[1].reason, len(events)) == ("error", 2)
