"""The stream of a vendor's SDK, read as typed events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import openai
from measure import take_turns
from openai.types.chat import ChatCompletionChunk
from row import Row, slower
from world import World

from sapwood.streaming import EventStream

DELTAS = 200
RUNS = 40
BAR = 2


def deltas(world: World) -> Iterator[Row]:
    """Read the deltas that the SDK gives as events, against handing them on as they are."""
    body = "".join(map(_line, [*[{"content": "word "}] * DELTAS, {}])).encode()
    client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1")

    def stream() -> Any:
        response: Any = SimpleNamespace(iter_bytes=lambda: iter([body]), close=lambda: None)
        return openai.Stream(cast_to=ChatCompletionChunk, response=response, client=client)

    def ours() -> int:
        return sum(1 for _ in EventStream(stream()))

    def raw() -> int:
        return sum(1 for _ in _handed_on(stream()))

    assert ours() == raw()
    turns = take_turns(ours, raw, world.times(RUNS))
    yield slower(f"read a stream of {DELTAS} deltas through the SDK", turns, BAR)


def _handed_on(items: Any) -> Iterator[Any]:
    yield from items


def _line(delta: dict[str, str]) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n"
