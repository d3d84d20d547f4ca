"""Other writes from one thread: batches, and updates while a message streams in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from statistics import median

from measure import ROUNDS, Turns, take_turns
from messages import TEXT_BYTES, messages, text
from raw import RawTable, new_id
from row import Row, faster, slower
from world import BATCH, OWNER, SESSION, World, go_round

from sapwood.model import DocumentPut, NewMessage, SessionPatch, TextPart
from sapwood.rules.codec import pack
from sapwood.stores.sqlite import SqliteStore

BATCHES = 9
UPDATES = 100


def append_batch(world: World) -> Iterator[Row]:
    """Append 1,000 messages in one call, against a raw batch in one transaction.

    Raw encodes its messages, as raw reads decode them; aside, its rows are made ready before.
    """
    path, store = world.new_store("batch")
    table = world.new_raw("batch")
    new = list(messages(BATCH))
    tokens = [pack(message, new_id).tokens for message in new]
    count = max(world.times(BATCHES), 3)
    rows = table.endless(new)
    ready = iter([list(islice(rows, BATCH)) for _ in range(ROUNDS * count)])

    def ours() -> None:
        store.append(OWNER, SESSION, new)

    def raw() -> None:
        table.append_messages(new, tokens)

    def raw_of_ready_rows() -> None:
        table.append_all(next(ready))

    go_round(path, ours)
    go_round(table.path, raw)
    work = "append 1,000 messages in one call"
    yield _throughput(work, take_turns(ours, raw, count))
    aside = _throughput(f"{work}, against ready rows", take_turns(ours, raw_of_ready_rows, count))
    yield replace(aside, is_aside=True)
    store.close()
    table.close()


def _throughput(work: str, turns: Turns) -> Row:
    return faster(
        work,
        [1e6 * BATCH / median(times) for times in turns.ours],
        [1e6 * BATCH / median(times) for times in turns.raw],
        0.5,
        times=turns.ours,
    )


def append_unit(world: World) -> Iterator[Row]:
    """Append a message with two documents and a patch, against one that comes alone."""
    path, store = world.new_store("unit")
    documents = [DocumentPut(key=key, value=b"a turn that is open") for key in ("turn", "lease")]
    states = cycle(["active", "busy"])

    def unit() -> None:
        patch = SessionPatch(state=next(states))
        store.append(OWNER, SESSION, [_one()], documents=documents, patch=patch)

    def alone() -> None:
        store.append(OWNER, SESSION, [_one()])

    go_round(path, unit)
    turns = take_turns(unit, alone, world.times(UPDATES))
    work = "append with two documents and a patch, against one without"
    yield slower(work, turns, 1.5, at_full=True)
    store.close()


def _one() -> NewMessage:
    return NewMessage(role="user", parts=[TextPart(text="Where is my order?")])


def update_last(world: World) -> Iterator[Row]:
    """Update the last message as it grows, against a raw update and commit."""
    path, store = world.new_store("update")
    table = world.new_raw("update")
    ours, raw = _Streaming(store), _RawStreaming(table)

    def next_message() -> None:
        ours.begin()
        raw.begin()

    next_message()
    go_round(path, ours.grow)
    go_round(table.path, raw.grow)
    turns = take_turns(ours.grow, raw.grow, world.times(UPDATES), before_round=next_message)
    yield slower("update of the last message as it streams in", turns, 1.5, at_full=True)
    store.close()
    table.close()


def _growing(id: str) -> list[NewMessage]:
    """Return a message as it streams in, a few bytes more each time."""
    whole = text(TEXT_BYTES, seed=1)
    ends = range(6, len(whole), 6)
    return [NewMessage(id=id, role="assistant", parts=[TextPart(text=whole[:n])]) for n in ends]


class _Streaming:
    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def begin(self) -> None:
        """Append the message that will grow."""
        states = _growing(new_id())
        self._store.append(OWNER, SESSION, states[:1])
        self._states = cycle(states)

    def grow(self) -> None:
        """Update it."""
        self._store.update_message(OWNER, SESSION, next(self._states))


class _RawStreaming:
    def __init__(self, table: RawTable) -> None:
        self._table = table

    def begin(self) -> None:
        """Insert the row that will grow."""
        states = list(self._table.records(_growing(new_id())))
        self._table.append(states[0])
        self._pos = states[0][0]
        self._contents = cycle([(it[3], it[4], it[9]) for it in states])

    def grow(self) -> None:
        """Update it."""
        self._table.update(self._pos, next(self._contents))
