"""The input is the same whether it is made from the end of a history or from the whole."""

from __future__ import annotations

import random

import pytest

from sapwood import AsyncSession, ToolCallPart, ToolResultPart
from sapwood.compaction import estimate_parts, fit_messages, is_valid_input, model_messages
from sapwood.errors import ContextOverflowError
from sapwood.model import ModelInput, NewMessage, TextPart

LONG = "the tide is high and the harbour master sleeps "


def turns(seed: int, count: int) -> list[NewMessage]:
    """Write turns with calls and long results; every seventh call never gets an answer."""
    dice = random.Random(seed)
    said: list[NewMessage] = []
    for n in range(count):
        said.append(_say("user", dice))
        if n % 3 == 0:
            said.append(NewMessage(role="assistant", parts=[_call(n)]))
            if n % 7:
                output = LONG * dice.randrange(1, 60)
                said.append(
                    NewMessage(role="tool", parts=[ToolResultPart(call_id=f"c{n}", output=output)])
                )
        said.append(_say("assistant", dice))
    return said


def _call(n: int) -> ToolCallPart:
    return ToolCallPart(call_id=f"c{n}", name="tide", input={"port": "west"})


def _say(role: str, dice: random.Random) -> NewMessage:
    return NewMessage(role=role, parts=[TextPart(text=LONG * dice.randrange(1, 20))])


async def whole(chat: AsyncSession, budget: int) -> ModelInput:
    """Make what a model is given from the whole history."""
    history = await chat.history()
    messages = model_messages(history.entries)
    fitted = fit_messages(messages, budget, lambda message: estimate_parts(message.parts))
    return ModelInput(
        prompt="",
        messages=fitted.messages,
        tools=[],
        tokens=fitted.tokens,
        budget=budget,
        left_out=fitted.left_out,
        leaf=history.leaf,
    )


@pytest.mark.parametrize("budget", [300, 1_000, 5_000, 30_000])
async def test_the_input_is_that_of_the_whole(chat: AsyncSession, budget: int) -> None:
    await chat.append_all(turns(budget, 400))
    given, full = await chat.prepare(budget=budget), await whole(chat, budget)
    assert given.messages == full.messages
    assert (given.tokens, given.leaf) == (full.tokens, full.leaf)
    assert is_valid_input(given.messages)
    assert given.more
    assert full.left_out[-len(given.left_out) :] == given.left_out


async def test_the_question_stays_however_far_up_it_is(chat: AsyncSession) -> None:
    await chat.append_all(turns(1, 50))
    asked = await chat.append("user", "what now?")
    for n in range(40):
        await chat.append("assistant", _call(n))
        await chat.append("tool", ToolResultPart(call_id=f"c{n}", output=LONG * 100))
    given = await chat.prepare(budget=3_000)
    assert asked.id in {message.id for message in given.messages}
    assert given.messages == (await whole(chat, 3_000)).messages


async def test_more_is_read_where_long_results_leave_room_once_they_are_shortened(
    chat: AsyncSession,
) -> None:
    for n in range(60):
        result = ToolResultPart(call_id=f"c{n}", output=LONG * 400)
        await chat.append("user", "how high?")
        await chat.append_all([("assistant", [_call(n)]), ("tool", [result])])
    await chat.append_all([("assistant", "high"), ("user", "and now?")] * 2)
    given = await chat.prepare(budget=5_000)
    assert given.messages == (await whole(chat, 5_000)).messages


async def test_a_summary_stays_however_far_up_it_is(chat: AsyncSession) -> None:
    first, last = (await chat.append_all([("user", "one"), ("assistant", "two")]))[:2]
    await chat.append_all(turns(2, 300))
    await chat.add_overlay(first, last, "we met")
    given = await chat.prepare(budget=3_000)
    assert given.messages[0].text.endswith("we met")
    assert not given.more


async def test_a_history_without_a_question_is_read_whole(chat: AsyncSession) -> None:
    await chat.append_all([("assistant", LONG * 20)] * 200)
    given = await chat.prepare(budget=2_000)
    assert (given.messages, given.more) == ((await whole(chat, 2_000)).messages, False)


async def test_a_question_that_does_not_fit_is_an_error_with_the_same_figures(
    chat: AsyncSession,
) -> None:
    await chat.append_all(turns(3, 200))
    await chat.append("user", LONG * 4_000)
    with pytest.raises(ContextOverflowError) as found:
        await chat.prepare(budget=10)
    with pytest.raises(ContextOverflowError) as full:
        await whole(chat, 10)
    assert str(found.value) == str(full.value)
