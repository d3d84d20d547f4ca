"""Branches made one after the other, and paths that lead through them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from append_rows import appender
from measure import ROUNDS, take_turns
from raw import RawReader
from row import Row, slower
from trees import REGENERATIONS, SEGMENTS, Regenerating, branched, regenerated
from world import OWNER, SESSION, World, fill, go_round, open_store

from sapwood.model import Message, NewMessage, NewSession, Read

COMPARED = 100
PATHS = 5
_OTHER = "other"


def regenerate(world: World) -> Iterator[Row]:
    """Make the 9,901st to the 10,000th branch, against the first 100."""
    many = world.copy(regenerated(world, world.size(REGENERATIONS)))
    few = world.copy(world.with_session_of(0))
    with open_store(many) as old, open_store(few) as new:
        for path, store in ((many, old), (few, new)):
            store.create_session(OWNER, NewSession(id=_OTHER))
            go_round(path, appender(store, [_OTHER]))
        ours, raw = Regenerating(old), Regenerating(new)

        def ask() -> None:
            ours.ask()
            raw.ask()

        turns = take_turns(ours.regenerate, raw.regenerate, COMPARED // ROUNDS, before_each=ask)
    yield slower("branch 9,901 to 10,000, against 1 to 100", turns, 2, at_full=True)


def path_of_branches(world: World) -> Iterator[Row]:
    """Read a path through 100 branches, against a contiguous range of the same length."""
    work = "path through 10,000 messages with 100 branches"
    return _path(world, branched(world), work, 1.5)


def path_of_segments(world: World) -> Iterator[Row]:
    """Read a path of 5,000 segments, against a contiguous range of the same length."""
    return _path(world, regenerated(world, world.size(SEGMENTS)), "path of 5,000 segments", 4)


def _path(world: World, tree: Path, work: str, bar: float) -> Iterator[Row]:
    with open_store(tree) as store:
        path = store.read(OWNER, SESSION, Read()).messages_only
        with closing(RawReader(_straightened(world, path))) as raw:
            first, last = raw.segment()

            def ours() -> list[Message]:
                return store.read(OWNER, SESSION, Read()).messages_only

            def contiguous() -> list[Message]:
                return raw.history(first, last, SESSION)

            assert [it.parts for it in ours()] == [it.parts for it in contiguous()]
            turns = take_turns(ours, contiguous, world.times(PATHS))
    yield slower(work, turns, bar)


def _straightened(world: World, path: list[Message]) -> Path:
    """Return a database with the same messages in one unbranched run."""
    file, store = world.new_store("straight", "normal")
    with store:
        fill(store, SESSION, [NewMessage(role=it.role, parts=it.parts) for it in path])
    return file
