"""What is looked up among little and among much: data, sessions, documents, pages of the feed.

The stores are built with `durability="normal"`, in batches where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import cycle
from pathlib import Path

from append_rows import raw_appender
from measure import Call, take_turns
from messages import DISTINCT, messages
from row import Row, slower
from world import BATCH, OWNER, SESSION, World, fill, go_round, open_store

from sapwood.model import DocumentPut, NewMessage, NewSession, SessionQuery, TextPart
from sapwood.stores.sqlite import SqliteStore

APPENDS = 200
LOOKS = 200
ALIKE = 1.3
FEW_CHANGES, MANY_CHANGES = 10, 10_000
FEW_SESSIONS, MANY_SESSIONS = 100, 20_000
WANTED = 10
TAG, TITLE = "wanted", "Where is order"
FEW_DOCUMENTS, MANY_DOCUMENTS = 1_000, 40_000
RANGE = 20
FEW_OF_OTHERS, MANY_OF_OTHERS = 1_000, 100_000
PAGE = 20

Build = Callable[[SqliteStore, int], None]
Asked = Callable[[SqliteStore], Call]


def append_with_data(world: World) -> Iterator[Row]:
    """Append a message with data, against a raw commit of a message."""
    path, store = world.new_store("data")
    with store, closing(world.new_raw("data")) as table:
        new = cycle([[message] for message in messages(DISTINCT)])
        states = cycle([{"step": step, "cart": ["a book", "a pen"]} for step in range(DISTINCT)])
        raw = raw_appender(table)

        def ours() -> None:
            store.append(OWNER, SESSION, next(new), data=next(states))

        go_round(path, ours)
        go_round(table.path, raw)
        turns = take_turns(ours, raw, world.times(APPENDS))
    yield slower("append with data, against a raw commit", turns, 1.5, at_full=True)


def current_data(world: World) -> Iterator[Row]:
    """Find the data that a session has now, after many changes of it."""
    work = "current data at 10,000 changes, against 10"
    yield _alike(world, work, _change_data, (FEW_CHANGES, MANY_CHANGES), _current_data)


def _change_data(store: SqliteStore, changes: int) -> None:
    new = messages(changes)
    for number, message in enumerate(new):
        store.append(OWNER, SESSION, [message], data={"step": number})
    fill(store, SESSION, messages(1))


def _current_data(store: SqliteStore) -> Call:
    def look() -> None:
        record = store.find_session(OWNER, SESSION)
        assert record is not None
        assert record.data_at is not None
        assert store.read_data(OWNER, SESSION, record.data_at) is not None

    return look


def sessions(world: World) -> Iterator[Row]:
    """Find ten sessions by a tag, and ten by the beginning of their titles, among many."""
    for what, query in (
        ("tag", SessionQuery(tags=[TAG])),
        ("title", SessionQuery(title_prefix=TITLE)),
    ):
        work = f"sessions by {what} among 20,000, against 100"
        ask = partial(_find_sessions, query)
        yield _alike(world, work, _create_sessions, (FEW_SESSIONS, MANY_SESSIONS), ask)


def _create_sessions(store: SqliteStore, number: int) -> None:
    for n in range(number):
        is_wanted = n % (number // WANTED) == 0
        title, tags = (f"{TITLE} {n}?", [TAG, "shop"]) if is_wanted else (f"Chat {n}", ["shop"])
        store.create_session(OWNER, NewSession(id=f"s{n}", title=title, tags=tags))


def _find_sessions(query: SessionQuery, store: SqliteStore) -> Call:
    def find() -> None:
        assert len(store.list_sessions(OWNER, query).sessions) == WANTED

    return find


def documents(world: World) -> Iterator[Row]:
    """List a range of a session's documents, among many."""
    work = "range of 20 among 40,000 documents, against 1,000"
    yield _alike(world, work, _put_documents, (FEW_DOCUMENTS, MANY_DOCUMENTS), _list_documents)


def _put_documents(store: SqliteStore, number: int) -> None:
    for first in range(0, number, BATCH):
        batch = [DocumentPut(key=f"d{n:06}", value=b"a turn") for n in range(first, first + BATCH)]
        store.put_documents(OWNER, SESSION, batch)


def _list_documents(store: SqliteStore) -> Call:
    def look() -> None:
        found = store.list_documents(OWNER, "d", session=SESSION, after="d000500", limit=RANGE)
        assert len(found) == RANGE

    return look


def feed(world: World) -> Iterator[Row]:
    """Read a page of the change feed, whose changes lie among those of others."""
    work = "page of the feed beside 100,000 changes of others, against 1,000"
    yield _alike(world, work, _change_of_others, (FEW_OF_OTHERS, MANY_OF_OTHERS), _read_feed)


def _change_of_others(store: SqliteStore, number: int) -> None:
    others = [f"other-{n}" for n in range(10)]
    for owner in others:
        store.create_session(owner, NewSession(id=SESSION))
    size = number // (2 * PAGE)
    # What is short is soon in the index.
    ok = NewMessage(role="user", parts=[TextPart(text="ok")])
    for own, other in zip(messages(2 * PAGE), cycle(others), strict=False):
        fill(store, SESSION, [ok] * size, other)
        store.append(OWNER, SESSION, [own])


def _read_feed(store: SqliteStore) -> Call:
    def read() -> None:
        assert len(store.changes(OWNER, limit=PAGE).changes) == PAGE

    return read


def _alike(world: World, work: str, build: Build, sizes: tuple[int, int], asked: Asked) -> Row:
    """Ask the same of a store with much and of one with little."""
    few, many = (open_store(_built(world, build, size), "normal") for size in sizes)
    with few, many:
        turns = take_turns(asked(many), asked(few), world.times(LOOKS), inner=5)
    return slower(work, turns, ALIKE)


def _built(world: World, build: Build, size: int) -> Path:
    def begin(world: World, path: Path) -> None:
        with open_store(path, "normal") as store:
            store.create_session(OWNER, NewSession(id=SESSION))
            build(store, size)
            store.finish_deletions()

    return world.once(f"{build.__name__}-{size}", begin)
