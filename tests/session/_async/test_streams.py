"""A model's stream is begun where an overflow can be mended, and handed on as it is."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai
import pytest
from endpoint import Endpoint, Reply, Stream, completions, messages

from sapwood import AsyncSession
from sapwood.compaction import create_compact_function
from sapwood.errors import ContextOverflowError, UsageError
from sapwood.model import ModelInput

MOST = 1_000


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in os.environ:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with Endpoint() as server:
        yield server


@pytest.fixture
async def chat(chat: AsyncSession) -> AsyncSession:
    await chat.append_all([("user", "Report: calm sea. " * 40)] * 20)
    return chat.compact_with(create_compact_function(lambda prompt: "calm", tail_token_budget=200))


class Model:
    """A model that takes so many tokens and no more, and answers in pieces."""

    def __init__(self, most: int = MOST, fails_at: int | None = None) -> None:
        self.most = most
        self.fails_at = fails_at
        self.given: list[ModelInput] = []
        self.log: list[str] = []

    async def items(self, given: ModelInput) -> AsyncIterator[str]:
        self._take(given)
        try:
            for index, piece in enumerate(("calm", " ", "sea")):
                if index == self.fails_at:
                    raise RuntimeError("maximum context length is 1 token")
                yield piece
        finally:
            self.log.append("closed")

    @asynccontextmanager
    async def manager(self, given: ModelInput) -> AsyncIterator[AsyncIterator[str]]:
        self._take(given)
        self.log.append("entered")
        yield self.items(given)
        self.log.append("left")

    def _take(self, given: ModelInput) -> None:
        self.given.append(given)
        if given.tokens > self.most:
            raise RuntimeError(f"maximum context length is {self.most} tokens")


async def said_in(stream: AsyncIterator[Any]) -> list[str]:
    return [str(piece) async for piece in stream]


async def reasons(chat: AsyncSession) -> list[str]:
    return [note.reason for note in await chat.compactions()]


async def test_a_generator_reaches_its_first_item(chat: AsyncSession) -> None:
    model = Model()
    stream = await chat.call_model(model.items)
    assert [given.tokens > MOST for given in model.given] == [True, False]
    assert await said_in(stream) == ["calm", " ", "sea"]
    assert model.log == ["closed"]
    assert await reasons(chat) == ["overflow"]


async def test_a_generator_is_closed_by_its_user(chat: AsyncSession) -> None:
    model = Model()
    stream = await chat.call_model(model.items)
    assert model.log == []
    await stream.aclose()
    assert model.log == ["closed"]


async def test_a_generator_without_items_stays_empty(chat: AsyncSession) -> None:
    async def nothing(given: ModelInput) -> AsyncIterator[str]:
        for message in given.messages[:0]:
            yield message.text

    assert await said_in(await chat.call_model(nothing)) == []


async def test_a_context_manager_is_entered_once(chat: AsyncSession) -> None:
    model = Model()
    async with await chat.call_model(model.manager) as stream:
        assert model.log == ["entered"]
        assert await said_in(stream) == ["calm", " ", "sea"]
    assert model.log == ["entered", "closed", "left"]
    assert await reasons(chat) == ["overflow"]


async def test_a_context_manager_is_told_of_an_error(chat: AsyncSession) -> None:
    told: list[Any] = []

    class Manager:
        async def __aenter__(self) -> str:
            return "stream"

        async def __aexit__(self, *details: Any) -> bool:
            told.append(details[1])
            return True

    manager = await chat.call_model(lambda given: Manager())
    async with manager as stream:
        assert stream == "stream"
        raise KeyError("mine")
    assert isinstance(told[0], KeyError)


async def test_nothing_is_tried_again_after_the_first_item(chat: AsyncSession) -> None:
    model = Model(fails_at=1)
    stream = await chat.call_model(model.items)
    with pytest.raises(RuntimeError, match="maximum context length"):
        await said_in(stream)
    assert len(model.given) == 2
    assert await reasons(chat) == ["overflow"]


@pytest.mark.parametrize("how", ["items", "manager"])
async def test_a_stream_that_never_begins_is_a_clear_error(chat: AsyncSession, how: str) -> None:
    with pytest.raises(ContextOverflowError, match="even after a compaction"):
        await chat.call_model(getattr(Model(most=1), how))


async def test_an_answer_that_is_no_stream_is_given_as_it_is(chat: AsyncSession) -> None:
    for answer in ("text", ["a"], {"a": 1}, None, range(3), completions.completion("x")):
        assert await chat.call_model(lambda given, answer=answer: answer) is answer


@pytest.mark.parametrize("how", ["create", "stream"])
async def test_openais_streams(chat: AsyncSession, endpoint: Endpoint, how: str) -> None:
    endpoint.prepare(Reply(completions.OVERFLOW, 400), Stream(completions.chunks("calm", " sea")))
    client = openai.AsyncOpenAI(base_url=endpoint.url, api_key="x", max_retries=0)

    def call(given: ModelInput) -> Any:
        said: Any = [{"role": "user", "content": given.messages[-1].text}]
        if how == "stream":
            return client.chat.completions.stream(model="small", messages=said)
        return client.chat.completions.create(model="small", messages=said, stream=True)

    texts = []
    async with await chat.call_model(call) as stream:
        if how == "create":
            assert stream.response.is_success
        async for event in stream:
            if how == "create" and event.choices:
                texts.append(event.choices[0].delta.content or "")
            elif how == "stream" and event.type == "content.delta":
                texts.append(event.delta)
    assert "".join(texts) == "calm sea"
    assert len(endpoint.asked) == 2
    assert await reasons(chat) == ["overflow"]
    await client.close()


async def test_an_overflow_within_openais_stream(chat: AsyncSession, endpoint: Endpoint) -> None:
    endpoint.prepare(Stream([completions.OVERFLOW]), Stream(completions.chunks("calm", " sea")))
    client = openai.AsyncOpenAI(base_url=endpoint.url, api_key="x", max_retries=0)

    def call(given: ModelInput) -> Any:
        said: Any = [{"role": "user", "content": given.messages[-1].text}]
        return client.chat.completions.create(model="small", messages=said, stream=True)

    stream = await chat.call_model(call)
    texts = [event.choices[0].delta.content async for event in stream if event.choices]
    assert "".join(text or "" for text in texts) == "calm sea"
    assert await reasons(chat) == ["overflow"]
    await client.close()


@pytest.mark.parametrize("how", ["create", "stream"])
async def test_anthropics_streams(chat: AsyncSession, endpoint: Endpoint, how: str) -> None:
    endpoint.prepare(Reply(messages.OVERFLOW, 400), Stream(messages.events("calm", " sea")))
    client = anthropic.AsyncAnthropic(base_url=endpoint.root, api_key="x", max_retries=0)

    def call(given: ModelInput) -> Any:
        said: Any = [{"role": "user", "content": given.messages[-1].text}]
        if how == "stream":
            return client.messages.stream(model="small", max_tokens=9, messages=said)
        return client.messages.create(model="small", max_tokens=9, messages=said, stream=True)

    async with await chat.call_model(call) as stream:
        if how == "stream":
            texts = await said_in(stream.text_stream)
            assert (await stream.get_final_message()).content[0].text == "calm sea"
        else:
            deltas = [e.delta async for e in stream if e.type == "content_block_delta"]
            texts = [delta.text for delta in deltas]
    assert texts == ["calm", " sea"]
    assert len(endpoint.asked) == 2
    assert await reasons(chat) == ["overflow"]
    await client.close()


@pytest.mark.parametrize("wrong", ["x", 5, None])
async def test_a_model_that_cannot_be_called_is_refused(chat: AsyncSession, wrong: Any) -> None:
    with pytest.raises(UsageError, match="call must be a function") as caught:
        await chat.call_model(wrong)
    assert caught.value.path == "call"
    with pytest.raises(UsageError, match="is_overflow must be a function"):
        await chat.call_model(str, is_overflow=wrong or 0)
