"""Reading: whole histories, the end of one, and how full the context is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from measure import take_turns
from raw import RawReader
from row import Row, slower
from world import OWNER, SESSION, World, open_store

from sapwood.model import Read

READS = 60_000
LAST = 50
LASTS = 100
POINTS = 50
POINTS_AT_ONCE = 100
ESTIMATE_BAR = 2.7
"""One row by its key, in SQLite's code, and the few functions of Python around it, which take the
same time whatever is stored: by as much as a third more on one machine than on another."""


def histories(world: World) -> Iterator[Row]:
    """Read whole histories, against a raw select and typed decode."""
    for length in (1_000, 10_000):
        yield _history(world, length)


def _history(world: World, length: int) -> Row:
    path = world.with_session_of(length)
    with open_store(path) as store, closing(RawReader(path)) as raw:
        first, last = raw.segment()

        def ours() -> object:
            return store.read(OWNER, SESSION, Read()).entries

        def select() -> object:
            return raw.history(first, last, SESSION)

        assert ours() == select()
        turns = take_turns(ours, select, world.times(READS // length))
    return slower(f"history of {length:,} messages", turns, 1.5)


def last_50(world: World) -> Iterator[Row]:
    """Read the last 50 of 10,000, against the raw range read and decode."""
    path = world.with_session_of(10_000)
    query = Read(limit=LAST, backwards=True)
    with open_store(path) as store, closing(RawReader(path)) as raw:
        first, last = raw.segment()

        def ours() -> object:
            return store.read(OWNER, SESSION, query).entries

        def select() -> object:
            return raw.last(first, last, LAST, SESSION)

        assert ours() == select()
        turns = take_turns(ours, select, world.times(LASTS))
    yield slower("last 50 of 10,000", turns, 2)


def context_estimates(world: World) -> Iterator[Row]:
    """Ask how full the context is, against a raw read of one row by its key."""
    for length in (100, world.size(100_000)):
        yield _context_estimate(world, length)


def _context_estimate(world: World, length: int) -> Row:
    path = world.with_session_of(length)
    with open_store(path) as store, closing(RawReader(path)) as raw:
        # Not the last message, which is a large tool result.
        pos = raw.segment()[1] - 5

        def ours() -> int:
            record = store.find_session(OWNER, SESSION)
            assert record is not None
            return record.context_tokens

        def point() -> object:
            return raw.point(pos)

        turns = take_turns(ours, point, world.times(POINTS), inner=POINTS_AT_ONCE)
    return slower(f"context estimate at {length:,} messages", turns, ESTIMATE_BAR)
