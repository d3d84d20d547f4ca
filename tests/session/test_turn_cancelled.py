"""Turns whose task is cancelled again and again until it is gone, as anyio and Starlette do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from endpoint import completions

import sapwood
from sapwood.agent import AsyncAgent
from sapwood.session._async import turn_lease

USAGE = {**completions.chunk({}), "choices": [], "usage": completions.USAGE}


async def cancel_until_gone(task: asyncio.Task[Any]) -> None:
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    assert task.cancelled()


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/a.db"


@pytest.mark.parametrize("how", ["stream", "answer", "agent"])
async def test_the_turn_is_let_go_with_what_came(url: str, how: str) -> None:
    silent = asyncio.Event()

    async def told(given: Any = None) -> Any:
        yield completions.chunk({"content": "partial"})
        yield USAGE
        silent.set()
        await asyncio.Event().wait()

    async def work() -> None:
        if how == "agent":
            await AsyncAgent(told).run("q", session=chat)
        async with chat.turn() as turn:
            await turn.append("user", "q")
            if how == "answer":
                turn.answer().add_text("partial")
                silent.set()
                await asyncio.Event().wait()
            async for _ in turn.stream(told()):
                pass

    async with sapwood.open_async(url) as sessions:
        chat = await sessions.session("chat")
        task = asyncio.create_task(work())
        await silent.wait()
        await cancel_until_gone(task)
        assert await turn_lease.holder_of(chat._stored) is None
        assert [(it.state, it.reason) for it in await chat.turns()] == [
            ("interrupted", "CancelledError")
        ]
        assert (await chat.history()).messages_only[-1].text == "partial"
        assert len(await chat.usage()) == (0 if how == "answer" else 1)


async def test_a_turn_that_was_just_begun_is_let_go(url: str) -> None:
    async def begin() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            await asyncio.Event().wait()

    async with sapwood.open_async(url) as sessions:
        chat = await sessions.session("chat")
        for steps in range(12):
            task = asyncio.create_task(begin())
            for _ in range(steps):
                await asyncio.sleep(0)
            await cancel_until_gone(task)
            assert await turn_lease.holder_of(chat._stored) is None


async def test_a_turn_that_is_taken_up_is_let_go(url: str) -> None:
    async def take_up() -> None:
        async with chat.turn(resume="q"):
            await asyncio.Event().wait()

    async with sapwood.open_async(url) as sessions:
        chat = await sessions.session("chat")
        async with chat.turn() as turn:
            await turn.append("user", "?", id="q")
        for steps in range(12):
            task = asyncio.create_task(take_up())
            for _ in range(steps):
                await asyncio.sleep(0)
            await cancel_until_gone(task)
            assert await turn_lease.holder_of(chat._stored) is None
