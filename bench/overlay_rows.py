"""Histories under overlays: what is read is what is shown, not what lies under it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from measure import take_turns
from messages import TEXT_BYTES, text
from row import Row, slower
from world import OWNER, SESSION, World, open_store

from sapwood.model import EntryRef, NewOverlay, Read
from sapwood.stores.sqlite import SqliteStore

SHOWN = 60
NESTED = 500
READS = 100


def one_summary(world: World) -> Iterator[Row]:
    """Leave one summary and 59 messages."""

    return _history(world, "one summary and 59 messages left", cover_but_59, 1.3)


def cover_but_59(store: SqliteStore, ids: list[str]) -> None:
    """Cover all but the last messages: 60 entries are left."""
    cover_range(store, message_ref(ids[0]), message_ref(ids[-SHOWN]), 0)


def nested_summaries(world: World) -> Iterator[Row]:
    """Leave one summary and 59 messages, under 500 overlays that each cover the one before."""

    def cover(store: SqliteStore, ids: list[str]) -> None:
        first = message_ref(ids[0])
        for number in range(NESTED):
            last = ids[number + 1 - NESTED - SHOWN]
            first = cover_range(store, first, message_ref(last), number)

    return _history(world, "500 nested overlays", cover, 1.3)


def alternating_summaries(world: World) -> Iterator[Row]:
    """Leave 30 summaries that alternate with 30 messages."""

    def cover(store: SqliteStore, ids: list[str]) -> None:
        each = len(ids) // (SHOWN // 2)
        for number in range(SHOWN // 2):
            part = ids[number * each : (number + 1) * each]
            if number == SHOWN // 2 - 1:
                part = ids[number * each :]
            cover_range(store, message_ref(part[0]), message_ref(part[-2]), number)

    return _history(world, "30 summaries and 30 messages", cover, 2.5)


def message_ref(id: str) -> EntryRef:
    """Name a message."""
    return EntryRef(kind="message", id=id)


def cover_range(store: SqliteStore, first: EntryRef, last: EntryRef, number: int) -> EntryRef:
    """Put an overlay over a range; return the entry that it shows."""
    summary = text(TEXT_BYTES, number)
    new = NewOverlay(first=first, last=last, summary=summary)
    return EntryRef(kind="overlay", id=store.add_overlay(OWNER, SESSION, new).id)


def ids_in(store: SqliteStore) -> list[str]:
    """Return the ids of the messages that are shown."""
    history = store.read(OWNER, SESSION, Read())
    return [message.id for message in history.messages_only]


def _history(
    world: World, form: str, cover: Callable[[SqliteStore, list[str]], None], bar: float
) -> Iterator[Row]:
    path = world.copy(world.with_100_000())
    with open_store(path, "normal") as store:
        cover(store, ids_in(store))
    yield _read(world, path, f"history of 100,000, {form}", bar)
    path.unlink()


def _read(world: World, path: Path, work: str, bar: float) -> Row:
    with open_store(path) as covered, open_store(world.with_session_of(SHOWN)) as fresh:

        def ours() -> list[object]:
            return [*covered.read(OWNER, SESSION, Read()).entries]

        def plain() -> list[object]:
            return [*fresh.read(OWNER, SESSION, Read()).entries]

        assert len(ours()) == len(plain()) == SHOWN
        turns = take_turns(ours, plain, world.times(READS))
    return slower(work, turns, bar)
