"""What is waited for in a turn that is stopped from outside, on an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import sapwood
from sapwood.errors import TurnStoppedError
from sapwood.session._async import turn_lease
from sapwood.session.stops import AsyncStops


async def test_a_silent_stream_is_cancelled_and_keeps_what_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turn_lease, "LEASE_S", 0.3)

    async def silent() -> Any:
        yield "On "
        await asyncio.Event().wait()

    async def read() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            async for _ in turn.stream(silent()):
                await chat.stop_turn()

    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        reading = asyncio.create_task(read())
        done, _ = await asyncio.wait([reading], timeout=30)
        assert done
        with pytest.raises(TurnStoppedError):
            await reading
        last = (await chat.history()).messages_only[-1]
        assert (last.text, last.extra["turn"]["state"]) == ("On ", "interrupted")
        assert [it.reason for it in await chat.turns()] == ["stopped"]


async def test_who_cancels_the_caller_is_heard_beside_a_stop() -> None:
    stops, begun = AsyncStops(), asyncio.Event()

    async def wait() -> None:
        with stops:
            begun.set()
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await begun.wait()
    stops.stop()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_who_finds_the_stop_itself_is_not_cancelled() -> None:
    stops = AsyncStops()
    with stops:
        stops.stop()
        await asyncio.sleep(0)
    with pytest.raises(TurnStoppedError), stops:
        pass


async def test_a_stop_does_not_hide_who_cancels_the_caller_after_it() -> None:
    stops, begun = AsyncStops(), asyncio.Event()

    async def wait() -> None:
        with stops:
            stops.stop()
            begun.set()
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
