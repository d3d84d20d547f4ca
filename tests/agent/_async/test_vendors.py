"""The loop with the real SDKs, over HTTP."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from endpoint import Drop, Endpoint, Reply

import sapwood
from sapwood.agent import AsyncAgent
from sapwood.compaction import create_compact_function
from sapwood.streaming import DoneEvent, ErrorEvent, PartEvent, TextEvent

from ..vendors import begun, overflow, overloaded, results_in, said


class Weather(msgspec.Struct):
    city: str
    degrees: int


def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"Rain in {city}."


async def test_tools_are_called_until_there_is_an_answer(
    vendor: str, endpoint: Endpoint, model: Any, chat: sapwood.AsyncSession
) -> None:
    calls = [("c1", "weather", {"city": "Porto"}), ("c2", "weather", {"town": "Faro"})]
    endpoint.prepare(
        said(vendor, "One moment.", calls=calls), said(vendor, "Take an umbrella.", id="a-2")
    )
    agent = AsyncAgent(model, tools=[weather], instructions="Be brief.")
    answer = await agent.run("Shall I take an umbrella?", session=chat)
    assert (answer.text, answer.reason, answer.steps) == ("Take an umbrella.", "complete", 2)
    first, second = (asked.body for asked in endpoint.asked)
    assert "Be brief." in json.dumps(first)
    assert "Tell the weather in a city." in json.dumps(first["tools"])
    told = results_in(second)
    assert told["c1"] == "Rain in Porto."
    assert "town" in told["c2"]
    roles = [message.role for message in (await chat.history()).messages_only]
    assert roles == ["user", "assistant", "tool", "assistant"]
    [total] = await chat.usage()
    assert (total.calls, total.output_tokens) == (2, 160)
    assert answer.tokens == total.input_tokens + total.output_tokens
    assert (await chat.find_turn(answer.turn)).state == "complete"


async def test_an_overflow_inside_a_lazy_stream_is_mended(
    vendor: str, endpoint: Endpoint, model: Any, chat: sapwood.AsyncSession
) -> None:
    chat.compact_with(create_compact_function(strategy="digest", tail_token_budget=50))
    for number in range(8):
        await chat.append("user", f"Question {number}. " + "It is a long one. " * 20)
        await chat.append("assistant", f"Answer {number}. " + "So is this. " * 20)
    endpoint.prepare(overflow(vendor), said(vendor, "Yes."))
    answer = await AsyncAgent(model).run("Is it done?", session=chat)
    assert answer.text == "Yes."
    sizes = [len(json.dumps(asked.body)) for asked in endpoint.asked]
    assert sizes[1] < sizes[0]
    assert len(await chat.overlays()) == 1


@pytest.mark.parametrize("failure", ["overloaded", "dropped", "cut"])
async def test_what_passes_is_tried_again(
    failure: str, vendor: str, endpoint: Endpoint, model: Any, chat: sapwood.AsyncSession
) -> None:
    ways = {"overloaded": overloaded(vendor), "dropped": Drop(), "cut": begun(vendor, "It is no")}
    endpoint.prepare(ways[failure], said(vendor, "Yes."))
    async with AsyncAgent(model).run_stream("Is it done?", session=chat) as stream:
        events = [event async for event in stream if event is not None]
    assert stream.answer.text == "Yes."
    assert [message.text for message in (await chat.history()).messages_only][1:] == ["Yes."]
    retried = [event for event in events if isinstance(event, ErrorEvent)]
    assert [event.code for event in retried] == (["retry"] if failure == "cut" else [])


async def test_other_failures_end_the_turn(
    vendor: str, endpoint: Endpoint, model: Any, chat: sapwood.AsyncSession
) -> None:
    endpoint.prepare(Reply({"error": {"message": "No such key.", "type": "auth"}}, 401))
    with pytest.raises(Exception, match="401"):
        await AsyncAgent(model).run("Is it done?", session=chat, id="q")
    assert (await chat.find_turn("q")).reason == "AuthenticationError"
    endpoint.prepare(said(vendor, "Yes."))
    answer = await AsyncAgent(model).resume(chat)
    assert (answer.text, answer.turn) == ("Yes.", "q")


async def test_an_answer_has_a_type(
    vendor: str, endpoint: Endpoint, model: Any, chat: sapwood.AsyncSession
) -> None:
    endpoint.prepare(
        said(vendor, '{"city": "Porto"}'),
        said(vendor, '{"city": "Porto", "degrees": 12}', id="a-2"),
    )
    answer = await AsyncAgent(model, output=Weather).run("How is it in Porto?", session=chat)
    assert answer.output == Weather("Porto", 12)
    asked = json.dumps(endpoint.asked[0].body)
    assert '"additionalProperties": false' in asked
    assert '"required": ["city", "degrees"]' in asked
    again = endpoint.asked[1].body
    assert "degrees" in json.dumps(again.get("messages", again.get("input"))[-1])


async def test_the_events_of_a_run(
    vendor: str, endpoint: Endpoint, model: Any, chat: sapwood.AsyncSession
) -> None:
    endpoint.prepare(
        said(vendor, calls=[("c1", "weather", {"city": "Porto"})]), said(vendor, "It rains.")
    )
    async with AsyncAgent(model, tools=[weather]).run_stream("Well?", session=chat) as stream:
        events = [event async for event in stream if event is not None]
    kinds = [type(event) for event in events]
    assert kinds.index(DoneEvent) < kinds.index(PartEvent) < kinds.index(TextEvent)
    assert kinds[-1] is DoneEvent
    assert "".join(it.text for it in events if isinstance(it, TextEvent)) == "It rains."


async def test_what_a_model_thought_goes_back_to_it_whole(
    vendor: str, endpoint: Endpoint, model: Any, chat: sapwood.AsyncSession
) -> None:
    """The mark of the agent's own on an answer does not reach its vendor."""
    endpoint.prepare(said(vendor, "Hello.", id="a-1"), said(vendor, "Bye.", id="a-2"))
    agent = AsyncAgent(model, name="porter")
    await agent.run("Hello?", session=chat)
    await agent.run("Bye?", session=chat)
    assert "porter" not in json.dumps(endpoint.asked[1].body)
