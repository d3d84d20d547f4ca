"""Closing: twice is once, later calls are refused, and nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import ClosedError
from sapwood.model import NewSession, Read, Search
from sapwood.stores.sqlite import SqliteStore

from .forked import CALLS
from .support import (
    ADA,
    assert_sound,
    fill,
    ids_in,
    make_session,
    open_async_store,
    open_store,
    run_in_threads,
    say,
    wait_until,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def threads_since(before: set[threading.Thread]) -> set[threading.Thread]:
    return set(threading.enumerate()) - before


def open_files(path: Path) -> list[str]:
    """Give the database's files that this process has open, where the system tells."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        return []
    targets = [str(it.readlink()) for it in descriptors.iterdir() if it.is_symlink()]
    return [target for target in targets if target.startswith(str(path))]


def test_closing_twice_is_closing_once(path: Path) -> None:
    store = open_store(path)
    store.close()
    store.close()
    with store:
        pass


@pytest.mark.parametrize("name", CALLS)
def test_a_call_after_closing_is_refused(path: Path, name: str) -> None:
    store = open_store(path)
    make_session(store, "s")
    store.close()
    with pytest.raises(ClosedError, match="the store is closed"):
        CALLS[name](store)


@pytest.mark.parametrize("name", CALLS)
async def test_an_async_call_after_closing_is_refused(path: Path, name: str) -> None:
    store = open_async_store(path)
    await store.create_session(ADA, NewSession(id="s"))
    await store.aclose()
    with pytest.raises(ClosedError, match="the store is closed"):
        await asyncio.wait_for(CALLS[name](store), 10)
    await asyncio.wait_for(store.aclose(), 10)


def write_until_refused(store: SqliteStore, writer: int, told: list[str]) -> None:
    """Append until told that the store is closed; any other error is raised."""
    try:
        while True:
            id = f"{writer}.{len(told)}"
            store.append(ADA, "s", [say(id)])
            told.append(id)
    except ClosedError:
        return


def read_until_refused(store: SqliteStore) -> None:
    try:
        while True:
            store.read(ADA, "s", Read(limit=20, backwards=True))
            store.find_session(ADA, "s")
    except ClosedError:
        return


@pytest.mark.parametrize("attempt", range(8))
def test_closing_under_writers_and_readers_tells_each_of_them(path: Path, attempt: int) -> None:
    before = set(threading.enumerate())
    store = open_store(path)
    make_session(store, "s")
    told: list[list[str]] = [[] for _ in range(6)]

    def close_soon() -> None:
        time.sleep(0.03 * attempt / 2)
        store.close()

    run_in_threads(
        close_soon,
        *(lambda n=n: write_until_refused(store, n, told[n]) for n in range(len(told))),
        *([lambda: read_until_refused(store)] * 3),
        timeout_s=60,
    )
    wait_until(lambda: not threads_since(before))
    assert open_files(path) == []
    with open_store(path) as again:
        found = ids_in(again, "s")
        assert again.admin.check() == []
    assert len(found) == len(set(found))
    for n, mine in enumerate(told):
        landed = [id for id in found if id.startswith(f"{n}.")]
        assert landed == mine, "each caller is told what became of its write"


@pytest.mark.parametrize("attempt", range(5))
async def test_closing_under_tasks_tells_each_of_them(path: Path, attempt: int) -> None:
    store = open_async_store(path)
    await store.create_session(ADA, NewSession(id="s"))
    told: list[str] = []

    async def use(writer: int) -> None:
        try:
            for n in range(100_000):
                await store.append(ADA, "s", [say(f"{writer}.{n}")])
                told.append(f"{writer}.{n}")
                await store.find_session(ADA, "s")
        except ClosedError:
            return

    tasks = [asyncio.ensure_future(use(writer)) for writer in range(10)]
    await asyncio.sleep(0.01 * attempt)
    await asyncio.wait_for(store.aclose(), 10)
    done, pending = await asyncio.wait(tasks, timeout=10)
    assert not pending, "a caller was never told"
    assert [task.exception() for task in done] == [None] * 10
    with open_store(path) as again:
        assert sorted(ids_in(again, "s")) == sorted(told)
        assert again.admin.check() == []


def test_two_threads_may_close_at_once(path: Path) -> None:
    for _ in range(20):
        store = open_store(path)
        run_in_threads(*[store.close] * 4, timeout_s=20)


@pytest.mark.parametrize("use", ["write", "group", "sweep"])
def test_no_thread_outlives_a_closed_store(path: Path, use: str) -> None:
    before = set(threading.enumerate())
    store = open_store(path)
    make_session(store, "s")
    uses: dict[str, Callable[[], Any]] = {
        "write": lambda: store.append(ADA, "s", [say("m")]),
        "group": lambda: run_in_threads(
            *(lambda n=n: store.append(ADA, "s", [say(f"m{n}")]) for n in range(30))
        ),
        "sweep": lambda: (fill(store, "s", 5_000), store.delete_session(ADA, "s")),
    }
    uses[use]()
    store.close()
    assert threads_since(before) == set()


def test_a_closed_store_leaves_its_file_and_the_index_and_no_log(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        fill(store, "s", 100)
        store.finish_deletions()
        assert store.search(ADA, Search(text="nothing")).hits == []
    assert {it.name for it in path.parent.iterdir()} == {"s.db", "s.db-search"}
    assert_sound(path)


def test_a_store_that_nobody_closed_is_not_in_the_way(path: Path) -> None:
    store = open_store(path)
    make_session(store, "s")
    del store
    with open_store(path) as again:
        again.append(ADA, "s", [say("m1")])
    assert_sound(path)
