"""Calls on much, against the same on little: what they cost must not grow, or only in proportion.

The stores are opened with `durability="normal"`: a wait for the disk would hide the growth.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from measure import Call, take_turns
from messages import messages
from row import Row, slower
from world import OWNER, SESSION, World

from sapwood.model import ForkPoint, NewSession
from sapwood.stores.sqlite import SqliteStore

SHORT_CHAIN, LONG_CHAIN = 100, 800
FORKS = 100


def fork_chains(world: World) -> Iterator[Row]:
    """Fork the last of a chain of forks, each of which has a message of its own."""
    with _chain(world, LONG_CHAIN) as long, _chain(world, SHORT_CHAIN) as short:
        sides = (_forker(long, LONG_CHAIN), _forker(short, SHORT_CHAIN))
        turns = take_turns(*sides, world.times(FORKS))
    yield slower("fork of a chain of 800 forks, against 100", turns, 1.5)


def _chain(world: World, length: int) -> SqliteStore:
    _, store = world.new_store(f"chain-{length}", "normal")
    said = list(messages(length + 1))
    store.append(OWNER, SESSION, said[:1])
    for number in range(1, length + 1):
        source = SESSION if number == 1 else str(number - 1)
        new = NewSession(id=str(number), fork=ForkPoint(session=source))
        store.create_session(OWNER, new)
        store.append(OWNER, new.id, said[number : number + 1])
    return store


def _forker(store: SqliteStore, last: int) -> Call:
    names = count()
    point = ForkPoint(session=str(last))

    def fork() -> None:
        store.create_session(OWNER, NewSession(id=f"fork-{next(names)}", fork=point))

    return fork
