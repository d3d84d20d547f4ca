"""What is measured on every server: ours beside the raw driver, taking turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, cycle
from time import perf_counter
from typing import Any

from measure import ROUNDS, calm, take_turns, time_of
from messages import messages
from raw import new_id
from raw_side import Said, ready
from round_trips import Counter
from row import Row, faster, slower
from server_kind import ServerKind

import sapwood
from sapwood.model import ForkPoint, NewSession, Read, Search
from sapwood.store import Store

OWNER = "bench"
WRITERS = 64
POOL = 16
HISTORY = 1_000
LAST = 50
SHALLOW = 100
DISTINCT = 1_000
BLOCK = 20
BATCH = 500
ONE_BY_ONE = 2_000


class World:
    """A running server, with our store and the raw driver on it."""

    def __init__(self, kind: ServerKind, url: str, share: float) -> None:
        self.kind = kind
        self.url = kind.url(url)
        self.share = share
        self.sessions = sapwood.open(self.url, owner=OWNER)
        self.store: Store = self.sessions.store
        self.raw = kind.raw(kind.raw_url(url))
        self.said: list[Said] = ready(messages(DISTINCT), new_id)
        self._numbers = count(1)
        self._long: dict[int, str] = {}

    def long_session(self, length: int) -> str:
        """Return a long session, which is built once."""
        if length not in self._long:
            self._long[length] = self.new_session(length)
        return self._long[length]

    def times(self, number: int) -> int:
        """Scale a number of repetitions."""
        return max(5, round(number * self.share * self.kind.pace))

    def size(self, number: int) -> int:
        """Scale what is built; a quick run builds smaller."""
        return round(number * self.share)

    def new_session(self, length: int) -> str:
        """Make a session of so many messages, in ours and in raw."""
        name = f"s{next(self._numbers)}"
        self.store.create_session(OWNER, NewSession(id=name))
        new = cycle(messages(DISTINCT))
        # What is measured was said one by one, as it is; what stands far above it, in batches.
        above = max(0, length - ONE_BY_ONE)
        for begin in range(0, above, BATCH):
            size = min(BATCH, above - begin)
            self.store.append(OWNER, name, [next(new) for _ in range(size)])
        for _ in range(length - above):
            self.store.append(OWNER, name, [next(new)])
        self.raw.fill(name, [self.fresh(depth) for depth in range(1, length + 1)])
        return name

    def fresh(self, number: int) -> Said:
        it = self.said[number % DISTINCT]
        return Said(f"{number:030x}", it.role, it.tokens, it.body)

    def appender(self, session: str) -> Callable[[], object]:
        """Return a call that appends the next message with ours."""
        new = cycle(list(messages(DISTINCT)))
        return lambda: self.store.append(OWNER, session, [next(new)])

    def raw_appender(self, session: str, length: int) -> Callable[[], object]:
        """Return a call that stores the next message with the raw driver."""
        depths = count(length + 1)

        def insert() -> None:
            depth = next(depths)
            self.raw.insert(session, depth, self.fresh(depth))

        return insert

    def close(self) -> None:
        """Let go of both."""
        self.raw.close()
        self.sessions.close()


def append(world: World) -> Iterator[Row]:
    """Append one message."""
    name = world.new_session(SHALLOW)
    ours, raw = world.appender(name), world.raw_appender(name, SHALLOW)
    for call in (ours, raw):
        time_of(call, 20)
    turns = take_turns(ours, raw, world.times(200), block=BLOCK)
    yield slower(f"{world.kind.name}: append", turns, world.kind.append_bar)
    strict = world.raw.strict_insert
    if strict is not None:
        depths = count(1)
        raw = lambda: strict("strict", (depth := next(depths)), world.fresh(depth))  # noqa: E731
        turns = take_turns(ours, raw, world.times(200), block=BLOCK)
        work = f"{world.kind.name}: append, against an insert that commits by itself"
        yield replace(slower(work, turns, world.kind.append_bar), is_aside=True)


def append_deep(world: World) -> Iterator[Row]:
    """Append to a long session, against a short one."""
    deep = world.kind.deep
    long = world.appender(world.long_session(deep))
    short = world.appender(world.new_session(SHALLOW))
    for call in (long, short):
        time_of(call, 20)
    turns = take_turns(long, short, world.times(200), block=BLOCK)
    yield slower(f"{world.kind.name}: append at {deep:,}, against 100", turns, 1.2)


def history(world: World) -> Iterator[Row]:
    """Read and decode a history."""
    name = world.new_session(HISTORY)
    whole = Read()
    ours = lambda: world.store.read(OWNER, name, whole)  # noqa: E731
    raw = lambda: world.raw.range(name, 1, HISTORY)  # noqa: E731
    assert len(ours().entries) == len(raw()) == HISTORY
    turns = take_turns(ours, raw, world.times(20))
    yield slower(f"{world.kind.name}: history of 1,000", turns, 1.5)


def last(world: World) -> Iterator[Row]:
    """Read and decode the end of a long history."""
    deep = world.kind.long
    name = world.long_session(deep)
    end = Read(backwards=True, limit=LAST)
    ours = lambda: world.store.read(OWNER, name, end)  # noqa: E731
    raw = lambda: world.raw.range(name, deep - LAST + 1, deep)  # noqa: E731
    assert len(ours().entries) == len(raw()) == LAST
    turns = take_turns(ours, raw, world.times(100), block=BLOCK)
    yield slower(f"{world.kind.name}: last 50 of {deep:,}", turns, 1.5)


def crowd(world: World) -> Iterator[Row]:
    """Append with 64 writers at once, to 64 sessions."""
    names = [world.new_session(0) for _ in range(WRITERS)]
    yield asyncio.run(_crowd(world, names))


async def _crowd(world: World, names: list[str]) -> Row:
    each = world.times(20)
    manager = sapwood.open_async(world.url, owner=OWNER)
    await world.raw.open_pool(POOL)
    new = list(messages(DISTINCT))
    depths = {name: count(1) for name in names}

    async def ours(name: str) -> None:
        for number in range(each):
            await manager.store.append(OWNER, name, [new[number % DISTINCT]])

    async def raw(name: str) -> None:
        for _ in range(each):
            depth = next(depths[name])
            await world.raw.insert_async(name, depth, world.fresh(depth))

    rates: dict[str, list[float]] = {"ours": [], "raw": []}
    await _together(names, ours)
    await _together(names, raw)
    for number in range(ROUNDS):
        sides = [("ours", ours), ("raw", raw)]
        for side, writer in sides if number % 2 else sides[::-1]:
            calm()
            rates[side].append(WRITERS * each / await _together(names, writer))
    total = [len((await manager.store.read(OWNER, it, Read())).entries) for it in names]
    assert total == [each * (ROUNDS + 1)] * WRITERS, "a message was lost"
    await world.raw.close_pool()
    await manager.aclose()
    work = f"{world.kind.name}: 64 writers to 64 sessions"
    return faster(work, rates["ours"], rates["raw"], 1.5, at_full=False)


async def _together(names: list[str], writer: Callable[[str], Any]) -> float:
    begun = perf_counter()
    await asyncio.gather(*(writer(name) for name in names))
    return perf_counter() - begun


def trips(world: World) -> dict[str, int]:
    """Count the round trips of the common calls, on a session that was used before."""
    counter = Counter(world.url)
    with sapwood.open(counter.url, owner=OWNER) as sessions:
        store = sessions.store
        name = "trips"
        if store.find_session(OWNER, name) is None:
            store.create_session(OWNER, NewSession(id=name))
        new = list(messages(10))
        store.append(OWNER, name, new)
        store.read(OWNER, name, Read())
        tip = store.append(OWNER, name, new[:1]).tip
        fork = NewSession(id=f"fork-of-{tip}", fork=ForkPoint(session=name, message=tip))
        found = Search(text="warehouse", session=name)
        # The first one of an owner fills the index, where there is one, with all that is stored.
        store.search(OWNER, found)
        counted = {
            "append": counter.of(lambda: store.append(OWNER, name, new[:1])),
            "history": counter.of(lambda: store.read(OWNER, name, Read())),
            "fork": counter.of(lambda: store.create_session(OWNER, fork)),
            "search": counter.of(lambda: store.search(OWNER, found)),
        }
    counter.close()
    return counted


WORKS = {
    "append": append,
    "writers": crowd,
    "history": history,
    "last": last,
    "deep": append_deep,
}
