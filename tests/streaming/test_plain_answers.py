"""Answers of plain functions: of parts, and read in a thread while an event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from sapwood import ReasoningPart, TextPart
from sapwood.streaming import EventStream
from sapwood.streaming.any_answer import AsyncAnyAnswer


async def test_a_generator_in_a_thread_is_closed_when_its_item_has_come() -> None:
    loop = asyncio.get_running_loop()
    waiting, closed, released = asyncio.Event(), asyncio.Event(), threading.Event()

    def pieces() -> Iterator[str]:
        try:
            yield "a"
            loop.call_soon_threadsafe(waiting.set)
            released.wait()
            yield "b"
        finally:
            loop.call_soon_threadsafe(closed.set)

    async def read() -> None:
        async for _ in AsyncAnyAnswer.stream(pieces(), in_thread=True):
            pass

    reading = asyncio.create_task(read())
    await waiting.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not closed.is_set()
    released.set()
    async with asyncio.timeout(30):
        await closed.wait()


class Unadded(str):
    """A text to which no other is added, which would copy all of it for each piece."""

    __slots__ = ()

    def __add__(self, other: str) -> str:
        raise AssertionError("copied")


def test_pieces_of_a_part_are_joined_once() -> None:
    pieces = [TextPart(text=Unadded(it)) for it in ("a", "b", "c")]
    thoughts = [ReasoningPart(text=Unadded(it)) for it in ("d", "e")]
    stream = EventStream([*pieces, *thoughts, pieces[0]])
    for _ in stream:
        pass
    whole = [TextPart(text="abc"), ReasoningPart(text="de"), TextPart(text="a")]
    assert stream.message.parts == whole
