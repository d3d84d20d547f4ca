"""What becomes of answers that break, begin anew, or are never finished, and of what they cost."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint import completions

import sapwood
from sapwood import TextPart
from sapwood.agent import AsyncAgent
from sapwood.model import ModelInput, Usage
from sapwood.stores.base.queues import AsyncCallerQueues
from sapwood.streaming import ErrorEvent


class Crash(BaseException):
    """Stands for what no program survives."""


class Attempts:
    """A model that breaks again and again, after it said what that cost, and then answers."""

    def __init__(self, broken: int) -> None:
        self.broken = broken
        self.asked = 0

    def __call__(self, given: ModelInput) -> Any:
        self.asked += 1
        yield TextPart(text="It is ")
        yield Usage(id=f"u{self.asked}", input_tokens=100, output_tokens=5)
        if self.asked <= self.broken:
            raise ConnectionError("gone")


async def test_each_attempt_is_counted(chat: sapwood.AsyncSession) -> None:
    agent = AsyncAgent(Attempts(2), price=lambda usage: 2)
    answer = await agent.run("Done?", session=chat)
    assert (answer.tokens, answer.cost_micros, answer.steps) == (315, 6, 1)
    [total] = await chat.usage()
    assert (total.calls, total.input_tokens, total.cost_micros) == (3, 300, 6)


async def test_a_run_that_fails_is_counted(chat: sapwood.AsyncSession) -> None:
    with pytest.raises(ConnectionError):
        await AsyncAgent(Attempts(1), retries=0).run("Done?", session=chat)
    [total] = await chat.usage()
    assert (total.calls, total.input_tokens) == (1, 100)


async def test_a_run_that_is_left_is_counted(chat: sapwood.AsyncSession) -> None:
    async with AsyncAgent(Attempts(1)).run_stream("Done?", session=chat) as stream:
        async for event in stream:
            if isinstance(event, ErrorEvent):
                break
    [total] = await chat.usage()
    assert total.calls == 1


async def test_attempts_that_spend_too_much_end_the_run(chat: sapwood.AsyncSession) -> None:
    model = Attempts(9)
    answer = await AsyncAgent(model, max_tokens=105).run("Done?", session=chat)
    assert (answer.reason, answer.tokens, model.asked) == ("tokens", 105, 1)
    assert (await chat.find_turn(answer.turn)).reason == "tokens"


async def test_answers_of_one_id_are_all_counted(chat: sapwood.AsyncSession) -> None:
    agent = AsyncAgent(lambda given: [TextPart(text="Yes."), Usage(id="u", input_tokens=10)])
    for _ in range(3):
        await agent.run("Done?", session=chat)
    [total] = await chat.usage()
    assert total.calls == 3


async def test_what_came_of_a_refusal_is_kept(chat: sapwood.AsyncSession) -> None:
    def refusing(given: ModelInput) -> Any:
        yield completions.chunk({"refusal": "I will not."})
        raise Crash

    with pytest.raises(Crash):
        await AsyncAgent(refusing).run("Done?", session=chat)
    last = (await chat.history()).messages_only[-1]
    assert (last.role, last.extra["turn"]["state"]) == ("assistant", "interrupted")
    assert "I will not." in str(last.parts)


async def test_what_is_stored_of_an_answer_that_never_began_anew_is_cut_off(
    chat: sapwood.AsyncSession,
) -> None:
    async def stored() -> bool:
        return (await chat.history()).messages_only[-1].role == "assistant"

    asked: list[ModelInput] = []

    async def model(given: ModelInput) -> Any:
        asked.append(given)
        return first() if len(asked) == 1 else second()

    async def first() -> Any:
        yield "x" * 100_000
        for _ in range(1000):
            if await stored():
                break
            await AsyncCallerQueues.pause(0.005)
        raise ConnectionError("gone")

    async def second() -> Any:
        if asked:
            raise Crash
        yield ""

    with pytest.raises(Crash):
        await AsyncAgent(model).run("Done?", session=chat)
    last = (await chat.history()).messages_only[-1]
    assert (last.text[:3], last.extra["turn"]["state"]) == ("xxx", "interrupted")
