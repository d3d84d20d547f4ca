"""Server-Sent Events, as a client reads them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sapwood.streaming import EventStream, StreamEvent, TextEvent, events_to_ai_sdk, events_to_sse

from .answers import ALL, chat


def parsed(text: str) -> list[dict[str, Any]]:
    """Read a stream as a browser does: blocks of fields, of which those with data are told."""
    told = []
    for block in text.split("\n\n"):
        fields = dict(it.split(": ", 1) for it in block.split("\n") if ": " in it[1:])
        if "data" in fields:
            told.append({**fields, "data": json.loads(fields["data"])})
    return told


@pytest.mark.parametrize("vendor", ALL)
def test_every_event_has_a_number_and_its_type(vendor: str) -> None:
    events = list(EventStream(ALL[vendor]()))
    told = parsed("".join(events_to_sse(events)))
    assert [it["id"] for it in told] == [str(number + 1) for number in range(len(events) + 1)]
    assert [it["event"] for it in told] == [it["data"]["type"] for it in told]
    assert told[-1]["event"] == "end"
    assert told[-2]["data"]["reason"] == "tool_calls"
    assert "message" not in told[-2]["data"]


def test_a_client_that_comes_back_gets_the_rest() -> None:
    events = list(EventStream(chat()))
    whole = list(events_to_sse(events))
    for after in (0, 1, 5, len(whole), len(whole) + 1):
        assert list(events_to_sse(events, after=after)) == whole[after:]


def test_half_a_character_is_sent() -> None:
    [first, second, _] = events_to_sse([TextEvent(text="\ud83d"), TextEvent(text="\ude00")])
    halves = [parsed(it)[0]["data"]["text"] for it in (first, second)]
    assert "".join(halves).encode("utf-16", "surrogatepass").decode("utf-16") == "😀"


@pytest.mark.parametrize("write", [events_to_sse, events_to_ai_sdk])
@pytest.mark.parametrize("heartbeat_s", [None, 5])
def test_an_exception_is_told_without_its_text_and_comes_through(
    write: Any, heartbeat_s: float | None
) -> None:
    def events() -> Iterator[StreamEvent]:
        yield TextEvent(text="x")
        raise ValueError("the password is 1234")

    written: list[str] = []
    with pytest.raises(ValueError, match="password"):
        written.extend(write(events(), heartbeat_s=heartbeat_s))
    text = "".join(written)
    assert "could not be finished" in text
    assert "password" not in text
    assert '"end"' not in text
    assert '"finish"' not in text


@pytest.mark.parametrize("write", [events_to_sse, events_to_ai_sdk])
async def test_an_exception_comes_through_on_an_event_loop(write: Any) -> None:
    async def events() -> AsyncIterator[StreamEvent]:
        yield TextEvent(text="x")
        raise ValueError("the password is 1234")

    written = write(events(), heartbeat_s=5)
    texts = [await anext(written) for _ in range(2)]
    with pytest.raises(ValueError, match="password"):
        await anext(written)
    assert "could not be finished" in texts[-1]


@pytest.mark.parametrize("write", [events_to_sse, events_to_ai_sdk])
def test_a_heartbeat_while_nothing_comes(write: Any) -> None:
    def events() -> Iterator[StreamEvent]:
        yield TextEvent(text="x")
        time.sleep(0.5)
        yield TextEvent(text="y")

    written = list(write(events(), heartbeat_s=0.05))
    assert ": quiet\n\n" in written
    assert [it for it in written if it != ": quiet\n\n"] == list(write(events()))


@pytest.mark.parametrize("write", [events_to_sse, events_to_ai_sdk])
async def test_a_heartbeat_on_an_event_loop(write: Any) -> None:
    async def events() -> AsyncIterator[StreamEvent]:
        yield TextEvent(text="x")
        await asyncio.sleep(0.5)
        yield TextEvent(text="y")

    written = [text async for text in write(events(), heartbeat_s=0.05)]
    assert ": quiet\n\n" in written
    plain = [text async for text in write(events(), heartbeat_s=None)]
    assert [it for it in written if it != ": quiet\n\n"] == plain


async def test_all_of_a_stream_is_read_in_one_task() -> None:
    tasks = set()

    async def events() -> AsyncIterator[StreamEvent]:
        async with asyncio.timeout(60):  # belongs to the task that entered it
            for number in range(20):
                tasks.add(asyncio.current_task())
                yield TextEvent(text=str(number))

    assert len([text async for text in events_to_sse(events())]) == 21
    assert len(tasks) == 1


@pytest.mark.parametrize("heartbeat_s", [None, 5])
async def test_who_leaves_closes_the_events(heartbeat_s: float | None) -> None:
    ended = []

    async def events() -> AsyncIterator[StreamEvent]:
        try:
            while True:
                yield TextEvent(text="x")
                await asyncio.sleep(0)
        finally:
            ended.append(True)

    written = events_to_sse(events(), heartbeat_s=heartbeat_s)
    await anext(written)
    await written.aclose()  # type: ignore[attr-defined]
    assert ended


@pytest.mark.parametrize("heartbeat_s", [None, 5])
async def test_a_consumer_that_is_cancelled_ends_the_events(heartbeat_s: float | None) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def events() -> AsyncIterator[StreamEvent]:
        try:
            yield TextEvent(text="x")
            begun.set()
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def consume() -> list[str]:
        return [text async for text in events_to_sse(events(), heartbeat_s=heartbeat_s)]

    task = asyncio.create_task(consume())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@pytest.mark.parametrize("heartbeat_s", [None, 5])
def test_who_leaves_closes_the_events_without_a_loop(heartbeat_s: float | None) -> None:
    ended: list[bool] = []

    def events() -> Iterator[StreamEvent]:
        try:
            while True:
                yield TextEvent(text="x")
        finally:
            ended.append(True)

    written: Any = events_to_sse(events(), heartbeat_s=heartbeat_s)
    next(written)
    written.close()
    deadline = time.monotonic() + 30
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended
