"""Appending one message from one thread: alone, deep in a history, and in a full file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, cycle, islice
from pathlib import Path

from measure import Call, Turns, take_turns
from messages import DISTINCT, messages
from raw import Durability, RawTable
from row import Row, slower
from world import OWNER, SESSION, World, go_round, open_store

from sapwood.stores.sqlite import SqliteStore

APPENDS = 400
READY = 20_000


def appender(store: SqliteStore, sessions: list[str]) -> Call:
    """Return a call that appends the next message to any of the sessions."""
    rng = random.Random(len(sessions))
    new = islice(cycle(messages(DISTINCT)), READY)
    ready = cycle([(rng.choice(sessions), [message]) for message in new])

    def append() -> None:
        session, batch = next(ready)
        store.append(OWNER, session, batch)

    return append


def raw_appender(table: RawTable) -> Call:
    """Return a call that inserts and commits the next message; its row is ready beforehand."""
    rows = table.endless(messages(DISTINCT))
    ready = chain(list(islice(rows, READY)), rows)

    def append() -> None:
        table.append(next(ready))

    return append


def append_one_full(world: World) -> Iterator[Row]:
    """Append one message at full durability."""
    return _append_one(world, "full", 1.3)


def append_one_normal(world: World) -> Iterator[Row]:
    """Append one message at normal durability."""
    return _append_one(world, "normal", 2.5)


def _append_one(world: World, durability: Durability, bar: float) -> Iterator[Row]:
    count = world.times(APPENDS)
    path, store = world.new_store("append", durability)
    table = world.new_raw("append", durability)
    ours, raw = appender(store, [SESSION]), raw_appender(table)
    go_round(path, ours)
    go_round(table.path, raw)
    turns = take_turns(ours, raw, count)
    work = f"append one message, sync, {durability}"
    yield slower(work, turns, bar, at_full=durability == "full")
    store.close()
    table.close()


def append_deep(world: World) -> Iterator[Row]:
    """Append at 100,000 messages in the session, against the same at 100."""
    turns = _two_stores(
        world, (world.with_100_000(), [SESSION]), (world.with_session_of(100), [SESSION])
    )
    yield slower("append at 100,000 messages, against 100", turns, 1.2, at_full=True)


def append_among_many(world: World) -> Iterator[Row]:
    """Append with 10,000 sessions in the file, to any of them, against one session."""
    path, names = world.with_10_000_sessions()
    turns = _two_stores(world, (path, names), (world.with_session_of(1), [SESSION]))
    yield slower("append with 10,000 sessions, against 1", turns, 1.2, at_full=True)


def _two_stores(
    world: World, large: tuple[Path, list[str]], small: tuple[Path, list[str]]
) -> Turns:
    """Append in turns to copies of two databases."""
    count = world.times(APPENDS)
    calls: list[Call] = []
    stores: list[SqliteStore] = []
    for source, names in (large, small):
        path = world.copy(source)
        stores.append(open_store(path))
        calls.append(appender(stores[-1], names))
        go_round(path, calls[-1])
    turns = take_turns(calls[0], calls[1], count)
    for store in stores:
        store.close()
    return turns
