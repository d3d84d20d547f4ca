"""The stream of a vendor's SDK, read as typed events, and through a turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import openai
from measure import take_turns
from openai.types.chat import ChatCompletionChunk
from raw import new_id
from row import Row, larger, slower
from world import OWNER, SESSION, World

from sapwood.session import SessionManager
from sapwood.streaming import EventStream, TextEvent

DELTAS = 200
RUNS = 40
BAR = 2


def deltas(world: World) -> Iterator[Row]:
    """Read the deltas that the SDK gives as events, against handing them on as they are."""

    def ours() -> int:
        return sum(1 for _ in EventStream(_stream()))

    def raw() -> int:
        return sum(1 for _ in _handed_on(_stream()))

    assert ours() == raw()
    turns = take_turns(ours, raw, world.times(RUNS))
    yield slower(f"read a stream of {DELTAS} deltas through the SDK", turns, BAR)


def turns_of_deltas(world: World) -> Iterator[Row]:
    """Stream an answer through a turn, against a turn that hands on the same and stores its text.

    Both sides write the question and the whole answer. Of ready strings, which nobody parses, the
    other side has the events made: this is what making and keeping them costs.
    """
    words = ["word "] * DELTAS
    made = [TextEvent(text=word) for word in words]
    _, store = world.new_store("streamed", "normal")
    with store:
        chat = SessionManager(store, owner=OWNER, new_id=new_id).get(SESSION)

        def ours(items: Callable[[], Any]) -> None:
            with chat.turn() as turn:
                turn.append("user", "How is it?")
                for _ in turn.stream(items()):
                    pass

        def plain(items: Callable[[], Any], text_of: Callable[[Any], str]) -> None:
            with chat.turn() as turn:
                turn.append("user", "How is it?")
                turn.complete("assistant", "".join(map(text_of, _handed_on(items()))))

        turns = take_turns(
            lambda: ours(_stream), lambda: plain(_stream, _text_of), world.times(RUNS)
        )
        yield slower(f"turn of {DELTAS} deltas of the SDK, against handing them on", turns, BAR)
        turns = take_turns(
            lambda: ours(lambda: iter(words)),
            lambda: plain(lambda: made, lambda event: event.text),
            world.times(RUNS),
        )
        row = slower(f"turn of {DELTAS} ready strings, against handing on events", turns, BAR)
        yield replace(row, is_aside=True)


def commits_of_turns(world: World) -> Iterator[Row]:
    """Count the commits of a completed turn, streamed or not, against those of its two appends."""
    _, store = world.new_store("counted", "normal")
    with store:
        chat = SessionManager(store, owner=OWNER, new_id=new_id).get(SESSION)

        def turn() -> None:
            with chat.turn() as turn:
                turn.append("user", "How is it?")
                turn.complete("assistant", "Fine.")

        def streamed() -> None:
            with chat.turn() as turn:
                turn.append("user", "How is it?")
                for _ in turn.stream(_stream()):
                    pass

        def appends() -> None:
            chat.append("user", "How is it?")
            chat.append("assistant", "Fine.")

        def counted(work: Callable[[], None]) -> int:
            writer = store._database._writer
            before = writer._commits
            work()
            return int(writer._commits - before)

        raw = counted(appends)
        yield larger("commits of a completed turn", "commits", counted(turn), raw, 1)
        yield larger("commits of a turn that is streamed", "commits", counted(streamed), raw, 1)


def _stream() -> Any:
    response: Any = SimpleNamespace(iter_bytes=lambda: iter([_BODY]), close=lambda: None)
    return openai.Stream(cast_to=ChatCompletionChunk, response=response, client=_CLIENT)


def _text_of(chunk: Any) -> str:
    return chunk.choices[0].delta.content or ""


def _handed_on(items: Any) -> Iterator[Any]:
    yield from items


def _line(delta: dict[str, str]) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n"


_BODY = "".join(map(_line, [*[{"content": "word "}] * DELTAS, {}])).encode()
_CLIENT = openai.OpenAI(api_key="none", base_url="http://127.0.0.1")
