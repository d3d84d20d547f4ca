"""Answers of the vendors' SDKs, over HTTP, that a turn keeps while they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from endpoint import Endpoint

import sapwood
from sapwood.streaming import AsyncEventStream, DoneEvent

from .. import answers
from .conftest import Ask
from .test_sdks import told_by, wire


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[sapwood.AsyncSession]:
    async with sapwood.open_async(f"sqlite:///{tmp_path}/turns.db", owner="ada") as sessions:
        yield await sessions.session("chat")


async def test_an_answer_that_calls_is_stored_with_all_that_its_vendor_wants(
    chat: sapwood.AsyncSession, vendor: str, endpoint: Endpoint, ask: Ask
) -> None:
    items = answers.ALL[vendor]()
    endpoint.prepare(wire(vendor, items), wire(vendor, items))
    async with AsyncEventStream(await ask()) as events:
        done = (await told_by(events))[-1]
        assert isinstance(done, DoneEvent)
    async with chat.turn() as turn:
        await turn.append("user", "Hello")
        async with turn.stream(await ask()) as stream:
            assert (await told_by(stream))[-1] == done
        assert turn.state == "open"
        stored = await chat.get(stream.id)
        assert (stored.parts, stored.metadata) == (done.message.parts, done.message.metadata or {})
    [total] = await chat.usage()
    assert total.calls == 1


async def test_an_answer_whose_connection_dropped_is_kept_and_marked(
    chat: sapwood.AsyncSession, vendor: str, endpoint: Endpoint, ask: Ask
) -> None:
    items = answers.ALL[vendor]()
    endpoint.prepare(wire(vendor, items[: len(items) // 2], drops=True))
    async with chat.turn() as turn:
        await turn.append("user", "Hello")
        stream = turn.stream(await ask())
        with pytest.raises(Exception, match=r"[Cc]onnection|peer closed"):
            await told_by(stream)
        assert turn.state == "interrupted"
    stored = await chat.get(stream.id)
    assert stored.extra["turn"]["state"] == "interrupted"
    assert stored.reasoning.startswith("Look")
