"""A cancelled compaction leaves everything as it was, or is done; the lease is free after it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tier import often

import sapwood
from sapwood import AsyncSession, AsyncSessionManager, Summary
from sapwood.compaction import create_compact_function
from sapwood.model import CompactEvent, Event

LONG = "a long story about the harbour " * 20
ROUNDS = often(30, 150)


class Heard:
    """A listener that has to be awaited, and that may be what is cancelled."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.takes_long = False
        self.is_told = asyncio.Event()

    async def __call__(self, event: Event) -> None:
        if isinstance(event, CompactEvent):
            self.phases.append(event.phase)
            if self.takes_long and event.phase == "started":
                self.is_told.set()
                await asyncio.sleep(60)


@pytest.fixture(params=["memory", "sqlite"])
async def sessions(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[AsyncSessionManager]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"
    async with sapwood.open_async(url, owner="ada") as manager:
        yield manager


@pytest.fixture
def heard() -> Heard:
    return Heard()


async def fill(sessions: AsyncSessionManager, heard: Heard) -> AsyncSession:
    chat = (await sessions.create()).on_event(heard).with_context("memory", default="likes tea")
    await chat.append_all([("user", LONG)] * 8)
    return chat


async def cancel(task: asyncio.Task[object]) -> bool:
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


async def is_lease_free(sessions: AsyncSessionManager, chat: AsyncSession) -> bool:
    lease = await sessions.store.find_document("ada", "compaction", session=chat.id)
    return lease is None


async def test_cancelled_during_the_summary_everything_is_as_it_was(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    thinking = asyncio.Event()

    async def think(prompt: str) -> str:
        thinking.set()
        await asyncio.sleep(60)
        return "never"

    chat = await fill(sessions, heard)
    before, record = (await chat.history()).entries, await chat.record()
    chat.compact_with(create_compact_function(think, tail_token_budget=100))
    task = asyncio.ensure_future(chat.compact())
    await thinking.wait()
    assert await cancel(task)
    assert ((await chat.history()).entries, await chat.record()) == (before, record)
    assert heard.phases == ["started", "failed"]
    assert await is_lease_free(sessions, chat)
    assert await chat.compactions() == []
    chat.compact_with(create_compact_function(lambda prompt: "short", tail_token_budget=100))
    assert (await chat.compact()).status == "done"


async def test_an_append_that_is_cancelled_while_it_compacts_has_gone_through(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    thinking = asyncio.Event()

    async def think(prompt: str) -> str:
        thinking.set()
        await asyncio.sleep(60)
        return "never"

    chat = await fill(sessions, heard)
    chat.compact_with(create_compact_function(think, tail_token_budget=100)).compact_after(100)
    task = asyncio.ensure_future(chat.append("user", "hello", id="m1"))
    await thinking.wait()
    assert await cancel(task)
    assert (await chat.get("m1")).text == "hello"
    assert heard.phases == ["started", "failed"]
    assert await is_lease_free(sessions, chat)


async def test_cancelled_while_a_listener_is_told_the_lease_is_free(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    chat = await fill(sessions, heard)
    heard.takes_long = True
    task = asyncio.ensure_future(chat.compact())
    await heard.is_told.wait()
    assert await cancel(task)
    assert heard.phases == ["started", "failed"]
    assert await is_lease_free(sessions, chat)


async def test_cancelled_at_random_moments_a_compaction_is_whole_or_not_there(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    dice = random.Random(5)

    async def think(prompt: str) -> str:
        await asyncio.sleep(dice.choice((0, 0, 0.002)))
        return "short"

    made = cancelled = 0
    for _ in range(ROUNDS):
        heard.phases.clear()
        chat = await fill(sessions, heard)
        chat.compact_with(create_compact_function(think, tail_token_budget=100))
        task = asyncio.ensure_future(chat.compact())
        for _ in range(dice.randrange(40)):
            await asyncio.sleep(0)
        await asyncio.sleep(dice.choice((0, 0, dice.uniform(0, 0.02))))
        cancelled += await cancel(task)
        # Asked before the loop runs on: nothing of it may still be on its way.
        assert await is_lease_free(sessions, chat)
        shown = [isinstance(entry, Summary) for entry in (await chat.history()).entries]
        assert shown in ([False] * 8, [False] * 3 + [True] + [False] * (len(shown) - 4))
        assert len((await chat.history(overlays=False)).entries) == 8
        assert heard.phases in ([], ["started", "failed"], ["started", "done"])
        made += True in shown
    assert cancelled > ROUNDS // 10
    assert made > 0
