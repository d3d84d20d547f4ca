"""A started write is never abandoned by a cancelled caller: its outcome comes first."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tier import often

from sapwood.model import NewSession, Read
from sapwood.stores.sqlite import AsyncSqliteStore

from .faulty import FaultyVfs
from .support import ADA, assert_sound, open_async_store, raw, say

ROUNDS = often(60, 300)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def vfs() -> Iterator[FaultyVfs]:
    faulty = FaultyVfs(f"sapwood-cancel-{uuid.uuid4().hex}")
    yield faulty
    faulty.unregister()


@pytest.fixture
async def store(path: Path, vfs: FaultyVfs) -> AsyncIterator[AsyncSqliteStore]:
    async with open_async_store(path, vfs=vfs.name) as opened:
        await opened.create_session(ADA, NewSession(id="s"))
        yield opened


async def ids_in(store: AsyncSqliteStore) -> list[str]:
    return [it.id for it in (await store.read(ADA, "s", Read())).messages_only]


async def cancelled(task: asyncio.Task[object]) -> bool:
    """Cancel a task and wait for it; tell whether it was too late."""
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_append_waits_for_its_commit(
    store: AsyncSqliteStore, vfs: FaultyVfs, times: int
) -> None:
    vfs.hold_next_sync()
    task = asyncio.ensure_future(store.append(ADA, "s", [say("m1")]))
    await asyncio.to_thread(vfs.is_waiting.wait, 30)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0.02)
        assert not task.done()
    vfs.let_go()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ids_in(store) == ["m1"]


async def test_a_cancelled_append_that_still_waits_for_its_turn_is_not_in_flight_afterwards(
    store: AsyncSqliteStore, vfs: FaultyVfs
) -> None:
    vfs.hold_next_sync()
    first = asyncio.ensure_future(store.append(ADA, "s", [say("first")]))
    await asyncio.to_thread(vfs.is_waiting.wait, 30)
    waiting = [asyncio.ensure_future(store.append(ADA, "s", [say(f"m{n}")])) for n in range(6)]
    await asyncio.sleep(0.01)
    for task in waiting[::2]:
        task.cancel()
    await asyncio.sleep(0.01)
    vfs.let_go()
    await first
    told = await asyncio.gather(*waiting, return_exceptions=True)
    found = await ids_in(store)
    assert [isinstance(it, asyncio.CancelledError) for it in told] == [True, False] * 3
    assert {"m1", "m3", "m5"} <= set(found)
    await store.append(ADA, "s", [say("last")])
    assert await ids_in(store) == [*found, "last"]


async def test_a_timeout_gives_up_the_wait_and_not_the_write(
    store: AsyncSqliteStore, vfs: FaultyVfs
) -> None:
    vfs.hold_next_sync()
    asyncio.get_running_loop().call_later(0.2, vfs.let_go)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(store.append(ADA, "s", [say("m1")]), 0.05)
    assert await ids_in(store) == ["m1"]


async def test_appends_cancelled_at_random_moments_are_whole_or_absent(
    store: AsyncSqliteStore, path: Path
) -> None:
    dice = random.Random(7)
    seen: dict[int, bool] = {}
    with raw(path) as outside:
        for n in range(ROUNDS):
            batch = [say(f"{n}.{k}") for k in range(3)]
            task = asyncio.ensure_future(store.append(ADA, "s", batch))
            await asyncio.sleep(dice.choice((0, 0, dice.uniform(0, 0.002))))
            was_cancelled = await cancelled(task)
            # Asked before the loop runs on: nothing of it may still be on its way.
            sql = "SELECT count(*) FROM message WHERE id LIKE ?"
            ((count,),) = outside.execute(sql, (f"{n}.%",)).fetchall()
            assert count in ((0, 3) if was_cancelled else (3,))
            seen[n] = count == 3
    expected = [f"{n}.{k}" for n in range(ROUNDS) if seen[n] for k in range(3)]
    assert await ids_in(store) == expected
    await store.append(ADA, "s", [say("after")])
    await store.aclose()
    assert_sound(path)


async def test_tasks_cancelled_among_many_leave_the_others_alone(store: AsyncSqliteStore) -> None:
    dice = random.Random(8)

    async def write(writer: int) -> list[str]:
        done = []
        for n in range(20):
            await store.append(ADA, "s", [say(f"{writer}.{n}")])
            done.append(f"{writer}.{n}")
        return done

    tasks = [asyncio.ensure_future(write(writer)) for writer in range(20)]
    for task in dice.sample(tasks, 10):
        await asyncio.sleep(dice.uniform(0, 0.003))
        task.cancel()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    found = await ids_in(store)
    for writer, outcome in enumerate(told):
        mine = [id for id in found if id.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{n}" for n in range(len(mine))]
        if not isinstance(outcome, BaseException):
            assert mine == outcome
    await asyncio.sleep(0.05)
    assert await ids_in(store) == found


async def test_a_cancelled_read_leaves_the_store_working(store: AsyncSqliteStore) -> None:
    await store.append(ADA, "s", [say(f"m{n}") for n in range(500)])
    for _ in range(50):
        task = asyncio.ensure_future(store.read(ADA, "s", Read()))
        await asyncio.sleep(0)
        assert await cancelled(task)
    assert len(await ids_in(store)) == 500


async def test_a_cancelled_settle_leaves_the_store_working(store: AsyncSqliteStore) -> None:
    await store.append(ADA, "s", [say(f"m{n}") for n in range(500)])
    await store.delete_session(ADA, "s")
    task = asyncio.ensure_future(store.finish_deletions())
    await asyncio.sleep(0.001)
    await cancelled(task)
    await store.create_session(ADA, NewSession(id="s"))
    await store.append(ADA, "s", [say("m1")])
    assert await ids_in(store) == ["m1"]
