"""Appending on an event loop: what one costs, and what the loop feels of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from time import perf_counter

from append_rows import raw_appender
from measure import ROUNDS, AsyncCall, Call, Turns, async_time_of, calm, percentile, time_of
from messages import DISTINCT, messages
from row import Row, slower
from world import OWNER, SESSION, World, async_go_round, go_round, open_async_store

from sapwood.model import NewSession
from sapwood.stores.sqlite import AsyncSqliteStore

APPENDS = 300
TICK_S = 0.001
TICKING_S = 2.0


def append_async(world: World) -> Iterator[Row]:
    """Append one message, against a raw commit and an empty hop to a thread and back."""
    turns = asyncio.run(_append_async(world))
    yield slower("append one message, async", turns, 1.3, at_full=True)


async def _append_async(world: World) -> Turns:
    count = world.times(APPENDS)
    path = world.new_file("async")
    table = world.new_raw("async")
    raw = raw_appender(table)
    go_round(table.path, raw)
    turns = Turns()
    async with open_async_store(path) as store:
        ours = await _appender(path, store)
        for _ in range(ROUNDS):
            ours_us, raw_us = await _round(ours, raw, count)
            turns.ours.append(ours_us)
            turns.raw.append(raw_us)
    table.close()
    return turns


async def _appender(path: Path, store: AsyncSqliteStore) -> AsyncCall:
    """Return a call that appends the next message; the log has gone round."""
    ready = cycle([[message] for message in messages(DISTINCT)])
    await store.create_session(OWNER, NewSession(id=SESSION))

    def append() -> Awaitable[object]:
        return store.append(OWNER, SESSION, next(ready))

    await async_go_round(path, append)
    return append


async def _round(ours: AsyncCall, raw: Call, count: int) -> tuple[list[float], list[float]]:
    """Append, commit and hop in turns; a raw time is a commit and the median hop."""
    ours_us, commits_us, hops_us = [], [], []
    with ThreadPoolExecutor(1) as pool:

        def hop() -> Awaitable[object]:
            return asyncio.get_running_loop().run_in_executor(pool, _nothing)

        calm()
        for number in range(count):
            if number % 2:
                commits_us.append(time_of(raw))
            ours_us.append(await async_time_of(ours))
            if not number % 2:
                commits_us.append(time_of(raw))
            hops_us.append(await async_time_of(hop))
    hop_us = percentile(hops_us, 0.5)
    return ours_us, [commit + hop_us for commit in commits_us]


def _nothing() -> None:
    """Do nothing, in another thread."""


def ticker(world: World) -> Iterator[Row]:
    """Tick every millisecond beside appends, against the same beside a thread's raw commits."""
    turns = asyncio.run(_ticker(world))
    work = "lateness of a 1 ms ticker beside async appends, p99.9"
    yield slower(work, turns, 2, at_full=True, share=0.999)


async def _ticker(world: World) -> Turns:
    seconds = 0.5 if world.quick else TICKING_S
    path = world.new_file("ticker")
    table = world.new_raw("ticker")
    commit = raw_appender(table)
    go_round(table.path, commit)
    turns = Turns()
    async with open_async_store(path) as store:
        append = await _appender(path, store)
        for number in range(ROUNDS):
            calm()
            if number % 2:
                turns.raw.append(await _tick_beside_commits(commit, seconds))
            turns.ours.append(await _tick_beside_appends(append, seconds))
            if not number % 2:
                turns.raw.append(await _tick_beside_commits(commit, seconds))
    table.close()
    return turns


async def _tick_beside_appends(append: AsyncCall, seconds: float) -> list[float]:
    async def keep_appending() -> None:
        while True:
            await append()

    task = asyncio.create_task(keep_appending())
    late_us = await _tick(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return late_us


async def _tick_beside_commits(commit: Call, seconds: float) -> list[float]:
    stop = threading.Event()

    def keep_committing() -> None:
        while not stop.is_set():
            commit()

    thread = threading.Thread(target=keep_committing)
    thread.start()
    late_us = await _tick(seconds)
    stop.set()
    thread.join()
    return late_us


async def _tick(seconds: float) -> list[float]:
    """Tick; return by how much each tick was late."""
    due = begun = perf_counter()
    late_us = []
    while due < begun + seconds:
        due += TICK_S
        await asyncio.sleep(due - perf_counter())
        late_us.append((perf_counter() - due) * 1e6)
    return late_us
