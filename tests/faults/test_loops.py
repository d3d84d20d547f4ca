"""An async store outlives its event loops."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import ClosedError
from sapwood.model import NewSession, Read
from sapwood.stores.sqlite import AsyncSqliteStore

from .support import ADA, assert_sound, open_async_store, run_in_threads, say

PATIENCE_S = 20


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run in a loop of its own; a call that hangs is an error."""

    async def in_time() -> Any:
        return await asyncio.wait_for(asyncio.shield(work), PATIENCE_S)

    return asyncio.run(in_time())


def run_in_time(target: Any) -> None:
    """Run where a hang ends in an error, also one that outlasts a cancellation."""
    run_in_threads(target, timeout_s=PATIENCE_S + 10)


async def begin(store: AsyncSqliteStore) -> None:
    await store.create_session(ADA, NewSession(id="s"))


async def append(store: AsyncSqliteStore, *ids: str) -> None:
    await asyncio.gather(*(store.append(ADA, "s", [say(id)]) for id in ids))


async def ids_in(store: AsyncSqliteStore) -> list[str]:
    return [it.id for it in (await store.read(ADA, "s", Read())).messages_only]


def test_one_loop_after_the_other_may_use_a_store(tmp_path: Path) -> None:
    def use() -> None:
        store = open_async_store(tmp_path / "s.db")
        run(begin(store))
        for n in range(3):
            run(append(store, *(f"{n}.{k}" for k in range(10))))
        assert len(run(ids_in(store))) == 30
        run(store.aclose())

    run_in_time(use)
    assert_sound(tmp_path / "s.db")


def test_loops_in_several_threads_may_use_a_store_at_once(tmp_path: Path) -> None:
    store = open_async_store(tmp_path / "s.db")
    run(begin(store))

    async def write(writer: int) -> None:
        for n in range(30):
            await append(store, f"{writer}.{n}.a", f"{writer}.{n}.b")

    run_in_threads(*(lambda writer=writer: run(write(writer)) for writer in range(4)))
    found = run(ids_in(store))
    assert len(found) == len(set(found)) == 240
    for writer in range(4):
        turns = [int(id.split(".")[1]) for id in found if id.startswith(f"{writer}.")]
        assert turns == sorted(turns)
    run(store.aclose())
    assert_sound(tmp_path / "s.db")


def test_a_loop_closed_under_a_write_does_not_take_the_store_with_it(tmp_path: Path) -> None:
    store = open_async_store(tmp_path / "s.db")
    run(begin(store))
    for n in range(5):
        leave_unfinished(store, f"left-{n}")

    def use() -> None:
        run(append(store, "after"))
        found = run(ids_in(store))
        assert found[-1] == "after"
        assert len(found) == len(set(found))
        run(store.aclose())

    run_in_time(use)
    assert_sound(tmp_path / "s.db")


def leave_unfinished(store: AsyncSqliteStore, id: str) -> None:
    """Start a write and a read, and close the loop without waiting for them."""
    loop = asyncio.new_event_loop()

    async def start() -> list[asyncio.Future[Any]]:
        tasks = [
            asyncio.ensure_future(store.append(ADA, "s", [say(id)])),
            asyncio.ensure_future(store.append(ADA, "s", [say(f"{id}-too")])),
            asyncio.ensure_future(store.read(ADA, "s", Read())),
        ]
        await asyncio.sleep(0)
        return tasks

    tasks = loop.run_until_complete(start())
    loop.close()
    for task in tasks:
        # Nobody will ever look at it: it should not complain about that when it is collected.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.get_coro().close()  # type: ignore[attr-defined]
    time.sleep(0.05)


def test_a_loop_that_ends_in_the_ordinary_way_waits_for_its_writes(tmp_path: Path) -> None:
    store = open_async_store(tmp_path / "s.db")
    run(begin(store))

    async def start_and_leave() -> None:
        writes = [store.append(ADA, "s", [say(f"m{n}")]) for n in range(20)]
        keep.extend(asyncio.ensure_future(it) for it in writes)
        await asyncio.sleep(0)

    keep: list[asyncio.Future[Any]] = []
    asyncio.run(start_and_leave())
    found = run(ids_in(store))
    assert sorted(found) == sorted(f"m{n}" for n in range(20))
    run(store.aclose())


def test_no_thread_of_a_store_outlives_its_closing(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    store = open_async_store(tmp_path / "s.db")
    run(begin(store))
    run(store.aclose())
    deadline = time.monotonic() + 10
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()


@pytest.mark.parametrize("attempt", range(5))
def test_closing_from_one_loop_tells_the_callers_on_another(tmp_path: Path, attempt: int) -> None:
    store = open_async_store(tmp_path / "s.db")
    run(begin(store))

    async def write_until_refused(writer: int) -> None:
        with contextlib.suppress(ClosedError):
            for n in range(100_000):
                await store.append(ADA, "s", [say(f"{writer}.{n}")])
                await store.find_session(ADA, "s")

    async def write_with_others(thread: int) -> None:
        await asyncio.gather(*(write_until_refused(thread * 10 + n) for n in range(4)))

    async def close_soon() -> None:
        await asyncio.sleep(0.02 * (attempt + 1))
        await store.aclose()

    run_in_threads(
        lambda: run(close_soon()),
        *(lambda n=n: run(write_with_others(n)) for n in range(3)),
        timeout_s=PATIENCE_S + 10,
    )
    assert_sound(tmp_path / "s.db")
