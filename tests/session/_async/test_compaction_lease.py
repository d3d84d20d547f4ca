"""The lease on a compaction: it is renewed while a summary is written, however long that takes."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator

import pytest

from sapwood import AsyncSessionManager
from sapwood.rules.ids import IdMaker
from sapwood.session._async import compactor
from sapwood.stores.base.queues import AsyncCallerQueues
from sapwood.stores.memory import AsyncMemoryStore
from sapwood.testing import ManualClock

from .compactable import Model, fill, tight

LEASE_S = 0.3


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def sessions(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncSessionManager]:
    monkeypatch.setattr(compactor, "LEASE_S", LEASE_S)
    new_id = IdMaker(clock, os.urandom)
    store = AsyncMemoryStore(clock=clock, new_id=new_id)
    async with AsyncSessionManager(store, owner="ada", new_id=new_id) as opened:
        yield opened


async def expiry(sessions: AsyncSessionManager) -> int:
    lease = await sessions.store.find_document("ada", "compaction", session="chat")
    assert lease is not None
    assert lease.expires_us is not None
    return lease.expires_us


async def test_rule_09_a_summary_that_takes_longer_than_the_lease_keeps_it(
    sessions: AsyncSessionManager, clock: ManualClock
) -> None:
    chat = await sessions.session("chat")
    await fill(chat, 8)
    other = (await sessions.get("chat")).compact_with(tight(Model("other")))
    told: list[str] = []

    async def think(prompt: str) -> str:
        # Four times as long as the lease, by the store's clock, which waits for the heart.
        for _ in range(5):
            before = await expiry(sessions)
            clock.advance(0.8 * LEASE_S)
            told.append((await other.compact()).reason)
            while await expiry(sessions) <= before:
                await AsyncCallerQueues.pause(0.005)
        return "short"

    threads = set(threading.enumerate())
    assert (await chat.compact_with(tight(think)).compact()).status == "done"
    assert told == ["another compaction of this session is at work"] * 5
    # And it is given back, with nobody who would renew it.
    assert await sessions.store.find_document("ada", "compaction", session="chat") is None
    assert set(threading.enumerate()) <= threads
    await fill(chat, 4)
    assert (await other.compact()).status == "done"


async def test_rule_09_a_lease_that_is_renewed_no_more_is_soon_free(
    sessions: AsyncSessionManager, clock: ManualClock
) -> None:
    chat = await sessions.session("chat")
    await fill(chat, 8)
    # As a process left it that ended while it was at work.
    await sessions.store.put_document(
        "ada", "compaction", b"{}", session="chat", expires_in_s=compactor.LEASE_S
    )
    chat.compact_with(tight(Model()))
    assert (await chat.compact()).status == "refused"
    clock.advance(LEASE_S)
    assert (await chat.compact()).status == "done"
