"""The lease on a turn: what it costs, how it is renewed, and who hears that it was lost."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import sapwood
from sapwood import AsyncSessionManager
from sapwood.errors import SessionBusyError
from sapwood.rules.ids import IdMaker
from sapwood.session._async import turn_lease
from sapwood.stores.base.queues import AsyncCallerQueues
from sapwood.stores.memory import AsyncMemoryStore
from sapwood.testing import ManualClock

LEASE_S = 0.3


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def short(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncSessionManager]:
    monkeypatch.setattr(turn_lease, "LEASE_S", LEASE_S)
    new_id = IdMaker(clock, os.urandom)
    store = AsyncMemoryStore(clock=clock, new_id=new_id)
    async with AsyncSessionManager(store, owner="ada", new_id=new_id) as opened:
        yield opened


async def expiry(sessions: AsyncSessionManager) -> int:
    lease = await sessions.store.find_document("ada", "turn", session="chat")
    assert lease is not None
    assert lease.expires_us is not None
    return lease.expires_us


def count_calls(chat: sapwood.AsyncSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what is asked of the store from now on."""
    store, calls = chat._stored.store, list[str]()

    def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **fields: Any) -> Any:
            calls.append(name)
            return method(*args, **fields)

        return call

    for name in dir(type(store)):
        if not name.startswith("_") and callable(getattr(type(store), name)) and name != "aclose":
            monkeypatch.setattr(store, name, counted(name, getattr(store, name)))
    return calls


async def test_a_turn_that_is_completed_asks_nothing_beside_its_appends(
    chat: sapwood.AsyncSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count_calls(chat, monkeypatch)
    for _ in range(2):
        async with chat.turn() as turn:
            await turn.append("user", "q")
            await turn.append("assistant", "thinking")
            await turn.complete("assistant", "a")
    assert calls == ["append"] * 6
    calls.clear()
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer()
        answer.add_text("a")
        await answer.save()
        answer.add_text("b")
        await answer.save()
        answer.add_text("c")
        await answer.complete()
    assert calls == ["append", "append", "update_message", "update_message"]
    calls.clear()
    async with chat.turn() as turn:
        await turn.append("user", "q")
        turn.answer().add_text("abc")
    assert calls == ["append", "append"]


async def test_a_turn_that_is_left_costs_one_write(
    chat: sapwood.AsyncSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count_calls(chat, monkeypatch)
    async with chat.turn() as turn:
        await turn.append("user", "q")
        await turn.append("assistant", "a")
    assert calls == ["append", "append", "find_messages", "update_message"]


async def test_a_turn_that_takes_longer_than_the_lease_keeps_it(
    short: AsyncSessionManager, clock: ManualClock
) -> None:
    chat, threads = await short.session("chat"), set(threading.enumerate())
    async with chat.turn() as turn:
        await turn.append("user", "q")
        # Four times as long as the lease, by the store's clock, which waits for the heart.
        for _ in range(5):
            before = await expiry(short)
            clock.advance(0.8 * LEASE_S)
            with pytest.raises(SessionBusyError):
                await (await chat.turn(wait_s=0).__aenter__()).append("user", "r")
            while await expiry(short) <= before:
                await AsyncCallerQueues.pause(0.005)
        await turn.complete("assistant", "a")
    assert await short.store.find_document("ada", "turn", session="chat") is None
    assert set(threading.enumerate()) <= threads


async def test_a_lease_that_is_renewed_no_more_is_soon_free(
    short: AsyncSessionManager, clock: ManualClock
) -> None:
    chat = await short.session("chat")
    dead = await chat.turn().__aenter__()
    await dead.append("user", "q")
    # As a process leaves it that ends while it is at work.
    await dead._lease.end()
    with pytest.raises(SessionBusyError):
        await (await chat.turn(wait_s=0).__aenter__()).append("user", "r")
    clock.advance(LEASE_S)
    async with chat.turn(wait_s=0) as turn:
        await turn.append("user", "r")
    assert [it.reason for it in await chat.turns()] == ["died", "left"]


async def test_the_heartbeat_hears_that_a_turn_was_stopped(short: AsyncSessionManager) -> None:
    chat = await short.session("chat")
    with pytest.raises(sapwood.errors.TurnStoppedError):  # noqa: PT012
        turn = chat.turn()
        async with turn:
            await turn.append("user", "q")
            await (await short.session("chat")).stop_turn()
            while not turn.stopped:
                await AsyncCallerQueues.pause(0.005)
            assert not turn.is_held
    assert [it.reason for it in await chat.turns()] == ["stopped"]
