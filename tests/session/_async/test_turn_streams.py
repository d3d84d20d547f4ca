"""Streams of models through a turn: handed on, kept while they come, and whole at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from endpoint import completions

import sapwood
from sapwood.errors import LeaseLostError, TurnStoppedError, UsageError
from sapwood.model import Message, ToolCallPart, ToolResultPart
from sapwood.stores.base.queues import AsyncCallerQueues
from sapwood.streaming import DoneEvent, TextEvent

WORDS = ("On ", "its ", "way.")


async def sent(*items: Any, error: Exception | None = None) -> AsyncIterator[Any]:
    for item in items:
        await AsyncCallerQueues.pause(0)
        yield item
    if error is not None:
        raise error


def calling(id: str = "chatcmpl-1") -> list[Any]:
    function = {"name": "look", "arguments": "{}"}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    deltas: list[Any] = [{"content": "One moment."}, {"tool_calls": [call]}]
    return [
        *(completions.chunk(delta, id=id) for delta in deltas),
        completions.chunk({}, id=id, finish="tool_calls"),
        {**completions.chunk({}, id=id), "choices": [], "usage": completions.USAGE},
    ]


async def read(stream: Any) -> list[Any]:
    return [event async for event in stream if event is not None]


async def last(chat: sapwood.AsyncSession) -> Message:
    return (await chat.history()).messages_only[-1]


async def said(chat: sapwood.AsyncSession) -> tuple[str, str]:
    message = await last(chat)
    return message.text, message.extra["turn"]["state"]


async def test_an_answer_is_handed_on_and_completes_its_turn(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        stream = turn.stream(sent(*WORDS))
        events = await read(stream)
        assert [it.text for it in events if isinstance(it, TextEvent)] == list(WORDS)
        assert isinstance(events[-1], DoneEvent)
        assert turn.state == "complete"
    message = await last(chat)
    assert (message.id, message.text, message.version) == (stream.id, "On its way.", 1)
    assert await said(chat) == ("On its way.", "complete")


async def test_it_is_stored_before_anybody_is_told_that_it_is_done(
    chat: sapwood.AsyncSession,
) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        async for event in turn.stream(sent(*WORDS)):
            if isinstance(event, DoneEvent):
                assert await said(chat) == ("On its way.", "complete")


async def test_a_call_leaves_the_turn_open_and_its_usage_is_counted(
    chat: sapwood.AsyncSession,
) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        await read(turn.stream(sent(*calling())))
        assert turn.state == "open"
        called = await last(chat)
        assert [type(part) for part in called.parts][-1] is ToolCallPart
        await turn.append("tool", [ToolResultPart(call_id="c1", output=1)])
        await read(turn.stream(sent(*completions.chunks("It ", "is.", id="chatcmpl-2"))))
        assert turn.state == "complete"
    assert await said(chat) == ("It is.", "complete")
    assert await chat.context_tokens() == 1280
    [total] = await chat.usage()
    assert (total.calls, total.input_tokens, total.cached_tokens) == (2, 2400, 2048)
    by_message = await chat.usage("message")
    assert [it.message for it in by_message] == [called.id, (await last(chat)).id]


async def test_two_answers_of_one_id_are_both_counted(chat: sapwood.AsyncSession) -> None:
    for _ in range(2):
        async with chat.turn() as turn:
            await turn.append("user", "q")
            await read(turn.stream(sent(*completions.chunks("It ", "is."))))
            assert turn.state == "complete"
    [total] = await chat.usage()
    assert total.calls == 2


async def test_what_came_is_stored_while_nothing_more_comes(chat: sapwood.AsyncSession) -> None:
    async def slowly() -> AsyncIterator[str]:
        yield "On "
        for _ in range(1000):
            if await chat.find("a1") is not None:
                break
            await AsyncCallerQueues.pause(0.005)
        assert await said(chat) == ("On ", "partial")
        yield "its way."

    async with chat.turn() as turn:
        await turn.append("user", "q")
        await read(turn.stream(slowly(), id="a1", interval_s=0))
    assert await said(chat) == ("On its way.", "complete")
    assert (await last(chat)).version >= 2


async def test_an_answer_that_fails_is_marked_and_keeps_what_came(
    chat: sapwood.AsyncSession,
) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        with pytest.raises(KeyError):
            await read(turn.stream(sent("On ", "its ", error=KeyError())))
        assert turn.state == "interrupted"
    assert await said(chat) == ("On its ", "interrupted")
    assert [it.reason for it in await chat.turns()] == ["KeyError"]


async def test_what_fails_before_a_word_came_can_be_asked_again(
    chat: sapwood.AsyncSession,
) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        with pytest.raises(KeyError):
            await read(turn.stream(sent(error=KeyError())))
        assert turn.state == "open"
        await read(turn.stream(sent(*WORDS)))
    assert await said(chat) == ("On its way.", "complete")


async def test_an_answer_of_nothing_is_none(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        await read(turn.stream(sent()))
        assert turn.state == "open"
    assert await said(chat) == ("q", "interrupted")


async def test_a_stream_that_ends_early_is_marked_as_cut(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        done = (await read(turn.stream(sent(*list(completions.chunks(*WORDS))[:3]))))[-1]
        assert isinstance(done, DoneEvent)
        assert done.reason == "cut"
        assert turn.state == "interrupted"
    assert await said(chat) == ("On its ", "interrupted")
    assert [it.reason for it in await chat.turns()] == ["cut"]


async def test_an_answer_that_is_not_read_to_its_end_is_cut(chat: sapwood.AsyncSession) -> None:
    response = sent(*WORDS)
    async with chat.turn() as turn:
        await turn.append("user", "q")
        async for _ in turn.stream(response):
            break
    assert await read(response) == []
    assert await said(chat) == ("On ", "interrupted")
    assert [it.reason for it in await chat.turns()] == ["cut"]


async def test_leaving_a_stream_cuts_it_at_once_and_closes_the_response(
    chat: sapwood.AsyncSession,
) -> None:
    response = sent(*WORDS)
    async with chat.turn() as turn:
        await turn.append("user", "q")
        async with turn.stream(response) as stream:
            assert isinstance(await anext(stream), TextEvent)
            assert stream.message.parts[0].text == "On "
        assert turn.state == "interrupted"
        assert await read(response) == []
    assert await said(chat) == ("On ", "interrupted")


async def test_a_stream_left_by_an_error_says_which(chat: sapwood.AsyncSession) -> None:
    async def fail() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            async with turn.stream(sent(*WORDS)) as stream:
                await anext(stream)
                raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert await said(chat) == ("On ", "interrupted")
    assert [it.reason for it in await chat.turns()] == ["KeyError"]


async def test_a_stopped_stream_ends_and_keeps_what_came(chat: sapwood.AsyncSession) -> None:
    async def stopping() -> AsyncIterator[str]:
        yield "On "
        await chat.stop_turn()
        yield "its "
        yield "way."

    async def run() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            await read(turn.stream(stopping(), interval_s=0))

    with pytest.raises(TurnStoppedError):
        await run()
    text, state = await said(chat)
    assert text.startswith("On its")
    assert state == "interrupted"
    assert [it.reason for it in await chat.turns()] == ["stopped"]


async def test_who_lost_the_turn_adds_nothing(chat: sapwood.AsyncSession) -> None:
    async def losing() -> AsyncIterator[str]:
        yield "On "
        await chat._stored.delete_document("turn")
        yield "its way."

    async def run() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            await read(turn.stream(losing()))

    with pytest.raises(LeaseLostError):
        await run()
    assert (await last(chat)).text == "q"


async def test_one_answer_at_a_time_and_streams_only(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        with pytest.raises(UsageError, match="not begun"):
            turn.stream(sent(*WORDS))
        await turn.append("user", "q")
        with pytest.raises(UsageError, match="no stream"):
            turn.stream("words")
        async with turn.stream(sent(*WORDS)) as stream:
            with pytest.raises(UsageError, match="in work"):
                turn.stream(sent(*WORDS))
            await read(stream)


async def test_a_completed_turn_costs_no_commit_beside_its_appends(
    chat: sapwood.AsyncSession,
) -> None:
    store: Any = chat._stored.store
    calls: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(store, name)

    chat._stored._store = Counting()
    async with chat.turn() as turn:
        await turn.append("user", "q")
        await read(turn.stream(sent(*WORDS)))
    assert calls == ["append", "append"]
