"""On an event loop an answer is stored in time, also when its stream stalls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import sapwood
from sapwood.session.saver import AsyncSaver


async def test_what_came_before_a_stall_is_stored_within_the_interval(tmp_path: Path) -> None:
    stored_after: list[float] = []

    async with sapwood.open_async(f"sqlite:///{tmp_path}/stall.db", owner="ada") as sessions:
        chat = await sessions.session("chat")

        async def stalling() -> AsyncIterator[str]:
            begun = time.monotonic()
            yield "On "
            for _ in range(1000):
                if await chat.find("a1") is not None:
                    break
                await asyncio.sleep(0.01)
            stored_after.append(time.monotonic() - begun)
            yield "its way."

        async with chat.turn() as turn:
            await turn.append("user", "q")
            async for _ in turn.stream(stalling(), id="a1", interval_s=0.2):
                pass
        assert (await chat.get("a1")).version == 2
    assert stored_after[0] >= 0.2


async def test_one_update_at_a_time_and_none_after_it_was_stopped() -> None:
    running, most, saves = 0, 0, 0

    async def save() -> None:
        nonlocal running, most, saves
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        saves += 1

    saver = AsyncSaver(save, lambda: 0)
    for _ in range(50):
        await saver.wake()
        await asyncio.sleep(0)
    await saver.stop()
    done = saves
    assert (running, most) == (0, 1)
    await saver.wake()
    await asyncio.sleep(0.01)
    assert saves == done > 0


async def test_what_a_save_raised_is_raised_where_the_answer_is_read() -> None:
    async def save() -> None:
        raise KeyError

    saver = AsyncSaver(save, lambda: 0)
    await saver.wake()
    await asyncio.sleep(0.01)
    with pytest.raises(KeyError):
        await saver.wake()
    await saver.stop()
