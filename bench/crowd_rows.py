"""Many writers at once: 64 tasks and 64 threads, every row verified afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter

from append_rows import appender, raw_appender
from measure import ROUNDS, Call, calm
from messages import DISTINCT, messages
from row import Row, faster
from world import OWNER, World, async_go_round, go_round, open_async_store, open_store

from sapwood.model import Message, NewMessage, NewSession, Read
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore

WRITERS = 64
APPENDS = 30
COMMITS = 400
OTHER = "other"


@dataclass
class Crowd:
    """What the writers were told, and what it took them."""

    sessions: list[str]
    told: list[list[Message]] = field(default_factory=lambda: [[] for _ in range(WRITERS)])
    times_us: list[list[float]] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)
    appends: int = 0
    raw_per_s: list[float] = field(default_factory=list)

    def session_of(self, writer: int) -> str:
        """Return the session that a writer appends to."""
        return self.sessions[writer % len(self.sessions)]

    def note(self, count: int, seconds: float, times_us: list[float]) -> None:
        """Take down a round in which each writer appended `count` messages."""
        self.appends += count
        self.per_s.append(WRITERS * count / seconds)
        self.times_us.append(times_us)

    def verify(self, path: Path) -> None:
        """Read everything back: each message once, equal, and in each writer's order."""
        assert all(len(told) == self.appends for told in self.told), "an append failed"
        with open_store(path) as store:
            for session in self.sessions:
                stored = store.read(OWNER, session, Read()).messages_only
                of_all = [
                    told
                    for writer, told in enumerate(self.told)
                    if self.session_of(writer) == session
                ]
                _verify(stored, of_all)


def _verify(stored: list[Message], told: list[list[Message]]) -> None:
    places = {message.id: place for place, message in enumerate(stored)}
    assert len(places) == len(stored) == sum(len(of_one) for of_one in told)
    for of_one in told:
        found = [places[message.id] for message in of_one]
        assert found == sorted(found)
        assert [stored[place] for place in found] == of_one


def tasks_to_many(world: World) -> Iterator[Row]:
    """Append from 64 tasks to 64 sessions, against the raw commits of one thread."""
    crowd = Crowd([f"s{number}" for number in range(WRITERS)])
    _measure(world, crowd, _run_tasks)
    work = "64 concurrent async appends, to 64 sessions"
    yield faster(work, crowd.per_s, crowd.raw_per_s, 4, times=crowd.times_us)


def tasks_to_one(world: World) -> Iterator[Row]:
    """Append from 64 tasks to one session, against the raw commits of one thread."""
    crowd = Crowd(["s"])
    _measure(world, crowd, _run_tasks)
    work = "64 concurrent async appends, to one session"
    yield faster(work, crowd.per_s, crowd.raw_per_s, 4, times=crowd.times_us)


def threads(world: World) -> Iterator[Row]:
    """Append from 64 threads, each to its session, against the raw commits of one thread."""
    crowd = Crowd([f"s{number}" for number in range(WRITERS)])
    _measure(world, crowd, _run_threads)
    work = "64 threads appending"
    yield faster(work, crowd.per_s, crowd.raw_per_s, 1.8, times=crowd.times_us)


def _measure(world: World, crowd: Crowd, run: Callable[[Path, Crowd, Call, int], None]) -> None:
    """Let the crowd and a raw thread take turns, then verify every row."""
    path = world.new_file("crowd")
    with open_store(path, "normal") as store:
        for name in [*crowd.sessions, OTHER]:
            store.create_session(OWNER, NewSession(id=name))
    table = world.new_raw("crowd")
    raw = raw_appender(table)
    go_round(table.path, raw)
    run(path, crowd, raw, world.times(APPENDS))
    table.close()
    crowd.verify(path)


def _raw_block(crowd: Crowd, raw: Call) -> None:
    begun = perf_counter()
    for _ in range(COMMITS):
        raw()
    crowd.raw_per_s.append(COMMITS / (perf_counter() - begun))


def _shares(count: int) -> list[list[list[NewMessage]]]:
    """Return the batches of each writer, of one message."""
    new = cycle(messages(DISTINCT))
    return [[[message] for message in islice(new, count)] for _ in range(WRITERS)]


def _run_tasks(path: Path, crowd: Crowd, raw: Call, count: int) -> None:
    asyncio.run(_rounds_of_tasks(path, crowd, raw, count))


async def _rounds_of_tasks(path: Path, crowd: Crowd, raw: Call, count: int) -> None:
    async with open_async_store(path) as store:
        other = cycle([[message] for message in messages(DISTINCT)])
        await async_go_round(path, lambda: store.append(OWNER, OTHER, next(other)))
        for number in range(ROUNDS):
            calm()
            if number % 2:
                _raw_block(crowd, raw)
            await _round_of_tasks(store, crowd, count)
            if not number % 2:
                _raw_block(crowd, raw)


async def _round_of_tasks(store: AsyncSqliteStore, crowd: Crowd, count: int) -> None:
    times_us: list[float] = []

    async def work(writer: int, share: list[list[NewMessage]]) -> None:
        session, told = crowd.session_of(writer), crowd.told[writer]
        for batch in share:
            begun = perf_counter()
            told += (await store.append(OWNER, session, batch)).messages
            times_us.append((perf_counter() - begun) * 1e6)

    crew = [work(*share) for share in enumerate(_shares(count))]
    begun = perf_counter()
    await asyncio.gather(*crew)
    crowd.note(count, perf_counter() - begun, times_us)


def _run_threads(path: Path, crowd: Crowd, raw: Call, count: int) -> None:
    with open_store(path) as store:
        go_round(path, appender(store, [OTHER]))
        for number in range(ROUNDS):
            calm()
            if number % 2:
                _raw_block(crowd, raw)
            _round_of_threads(store, crowd, count)
            if not number % 2:
                _raw_block(crowd, raw)


def _round_of_threads(store: SqliteStore, crowd: Crowd, count: int) -> None:
    times_us: list[float] = []
    start = threading.Barrier(WRITERS + 1)

    def work(writer: int, share: list[list[NewMessage]]) -> None:
        session, told = crowd.session_of(writer), crowd.told[writer]
        start.wait()
        for batch in share:
            begun = perf_counter()
            told += store.append(OWNER, session, batch).messages
            times_us.append((perf_counter() - begun) * 1e6)

    crew = [threading.Thread(target=work, args=share) for share in enumerate(_shares(count))]
    for thread in crew:
        thread.start()
    start.wait()
    begun = perf_counter()
    for thread in crew:
        thread.join()
    crowd.note(count, perf_counter() - begun, times_us)
