"""What a summariser sends, and what it makes of an ordinary answer."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint import Endpoint, completions, messages

from sapwood.calls import AsyncCall
from sapwood.compaction import SummaryAnswer
from sapwood.errors import UsageError
from sapwood.model import Usage
from sapwood.summarizers import AsyncAnthropicSummarizer, AsyncOpenAISummarizer

from ..protocols import SUMMARY, Protocol
from .conftest import KINDS, Make


async def test_the_answer_is_the_text_and_the_usage_under_the_call_s_id(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(protocol.answer(SUMMARY))
    usage = Usage(
        id=protocol.id,
        model="small-1",
        input_tokens=1200,
        output_tokens=80,
        cached_tokens=1024,
        reasoning_tokens=30,
    )
    assert await make()("Summarise.") == SummaryAnswer(text=SUMMARY, usage=usage)


async def test_the_request_holds_the_model_the_prompt_and_the_key(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    await make()("Summarise: é漢")
    [asked] = endpoint.asked
    assert asked.path == protocol.path
    assert asked.body["model"] == "small"
    assert asked.body["messages"] == [{"role": "user", "content": "Summarise: é漢"}]
    assert "a-key" in " ".join(asked.headers.values())


async def test_a_system_prompt_comes_first(make: Make, endpoint: Endpoint) -> None:
    await make(system="Be brief.")("Summarise.")
    body = endpoint.asked[0].body
    first = body.get("system") or body["messages"][0]["content"]
    assert first == "Be brief."


async def test_there_is_no_limit_unless_one_is_given_or_wanted_by_the_protocol(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    await make()("Summarise.")
    await make(max_tokens=77)("Summarise.")
    without, with_one = (asked.body.get("max_tokens") for asked in endpoint.asked)
    assert without == (None if protocol.name == "openai" else 8192)
    assert with_one == 77


async def test_usage_is_unknown_without_figures_or_without_an_id(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    wrong: list[dict[str, Any]] = [{"usage": None}, {"id": None}, {"id": ""}, {"id": "x" * 300}]
    for fields in wrong:
        endpoint.prepare(protocol.answer(SUMMARY, **fields))
        assert await make()("Summarise.") == SummaryAnswer(text=SUMMARY, usage=None)


async def test_figures_that_are_none_count_as_nothing(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    endpoint.prepare(
        protocol.answer(SUMMARY, usage={"output_tokens": -1, "completion_tokens": "x"})
    )
    answer = await make()("Summarise.")
    assert answer.usage == Usage(id=protocol.id, model="small-1")


async def test_a_client_of_the_sdk_may_be_given_and_stays_open(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    kind = getattr(protocol.sdk, KINDS[protocol.name].client_class)
    async with kind(base_url=protocol.address(endpoint), api_key="its-own") as client:
        async with make(client=client, base_url=None, api_key=None) as summarizer:
            await summarizer("Summarise.")
        assert not client.is_closed()
    assert "its-own" in " ".join(endpoint.asked[0].headers.values())


@pytest.mark.parametrize("extra", [{"base_url": "http://x"}, {"api_key": "x"}])
async def test_a_client_and_its_settings_exclude_each_other(
    protocol: Protocol, make: Make, endpoint: Endpoint, extra: dict[str, str]
) -> None:
    kind = getattr(protocol.sdk, KINDS[protocol.name].client_class)
    client = kind(base_url=protocol.address(endpoint), api_key="x")
    with pytest.raises(UsageError) as caught:
        make(**{"client": client, "base_url": None, "api_key": None, **extra})
    await client.close()
    assert [caught.value.path] == list(extra)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout_s", 0),
        ("timeout_s", -1),
        ("timeout_s", "60"),
        ("timeout_s", True),
        ("max_retries", -1),
        ("max_retries", 1.5),
        ("max_tokens", 0),
        ("max_tokens", "many"),
    ],
)
def test_a_setting_that_no_endpoint_could_keep_is_refused(
    make: Make, name: str, value: object
) -> None:
    with pytest.raises(UsageError) as caught:
        make(**{name: value})
    assert caught.value.path == name


@pytest.mark.parametrize("kind", [AsyncOpenAISummarizer, AsyncAnthropicSummarizer])
@pytest.mark.parametrize("model", ["", None, 7])
def test_a_model_needs_a_name(kind: Any, model: Any) -> None:
    with pytest.raises(UsageError) as caught:
        kind(model, api_key="x")
    assert caught.value.path == "model"


@pytest.mark.parametrize("prompt", ["", " \n", None, b"bytes"])
async def test_a_prompt_that_says_nothing_is_not_sent(
    make: Make, endpoint: Endpoint, prompt: Any
) -> None:
    with pytest.raises(UsageError) as caught:
        await make()(prompt)
    assert (caught.value.path, endpoint.asked) == ("prompt", [])


async def test_it_is_a_callable_as_compaction_calls_it(make: Make) -> None:
    answer = await AsyncCall.within(60, make(), "Summarise.")
    assert "parcel" in answer.text


async def test_parts_of_text_are_one_text(
    protocol: Protocol, make: Make, endpoint: Endpoint
) -> None:
    parts = [
        {"type": "thinking", "thinking": "hm", "text": "hm", "signature": "s"},
        {"type": "text", "text": "The order "},
        {"type": "text", "text": "left."},
    ]
    endpoint.prepare(protocol.answer(parts))
    assert (await make()("Summarise.")).text == "The order left."


def test_the_representation_tells_no_key(make: Make) -> None:
    shown = repr(make())
    assert "small" in shown
    assert "a-key" not in shown


async def test_the_same_answer_has_the_same_id_and_another_has_another(
    make: Make, protocol: Protocol, endpoint: Endpoint
) -> None:
    module = completions if protocol.name == "openai" else messages
    endpoint.prepare(*(module.answer(SUMMARY, id=id) for id in ("a", "a", "b")))
    summarizer = make()
    assert [(await summarizer("Summarise.")).usage.id for _ in range(3)] == ["a", "a", "b"]
