"""Searching, and filling the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median

import apsw
import msgspec
from append_rows import appender
from measure import ROUNDS, Call, Turns, calm, take_turns, time_of
from messages import messages
from raw import RawReader, connect
from row import Row, faster, larger, slower, times_more
from world import OWNER, SESSION, World, fill, go_round, open_store

from sapwood.model import NewMessage, NewSession, Search, TextPart
from sapwood.rules.text import fold, searchable, segment
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.index.file import OWNER_BITS

MANY = 100_000
FEW = 100
UNREAD = 10_000
SMALL_OWNER = "bob"
HITS = 20
SEARCHES = 8
APPENDS = 300
INDEX_BATCH = 500

RARE, COMMON = "quetzal", "warehouse"
CHINESE = "部署"
ONE_RARE_IN, ONE_CHINESE_IN = 1_000, 50
USUAL_BAR, RARE_BAR = 1.5, 1.7
"""Raw ranks nearly nothing for a rare word: what is left of ours is the work on each hit, which is
held against its checksum and the query, and shown as a snippet."""

# What to look for, and the same as the index is asked for it by hand.
QUERIES = {
    "a rare word": (RARE, f'"{RARE}"'),
    "a common word": (COMMON, f'"{COMMON}"'),
    "two words": ("customs refund", '"customs" AND "refund"'),
    "a phrase": ('"ask support"', '"ask support"'),
    "Chinese": (CHINESE, f'"{CHINESE}"'),
}
# The usual query, by rank. The first owner's entries are a range of numbers.
_RAW = (
    "SELECT e.pos FROM words JOIN entry e ON e.number = words.rowid"
    f" WHERE words MATCH ? AND words.rowid < {2 << OWNER_BITS} ORDER BY rank LIMIT ?"
)


def corpus(count: int) -> Iterator[NewMessage]:
    """Yield the usual messages, with a rare word and some Chinese in a few of them."""
    for number, message in enumerate(messages(count)):
        extra = ""
        if number % ONE_RARE_IN == 0:
            extra = f"we saw a {RARE} there"
        elif number % ONE_CHINESE_IN == 0:
            extra = "我们今天部署了新的服务器"
        if extra:
            message = msgspec.structs.replace(message, parts=[*message.parts, TextPart(text=extra)])
        yield message


def _indexed(world: World) -> Path:
    """Return a database of 100,000 messages, 100 of them another owner's, and its index."""

    def build(world: World, path: Path) -> None:
        with open_store(path, "normal") as store:
            for owner, count in ((OWNER, world.size(MANY) - FEW), (SMALL_OWNER, FEW)):
                store.create_session(owner, NewSession(id=SESSION))
                fill(store, SESSION, corpus(count), owner)
            store.finish_deletions()

    return world.once("search", build)


def _small(world: World) -> Path:
    def build(_: World, path: Path) -> None:
        with open_store(path, "normal") as store:
            store.create_session(SMALL_OWNER, NewSession(id=SESSION))
            fill(store, SESSION, corpus(FEW), SMALL_OWNER)
            store.finish_deletions()

    return world.once("search-few", build)


def searches(world: World) -> Iterator[Row]:
    """Search 100,000 messages, against the index asked by hand and its rows read and decoded."""
    path = _indexed(world)
    reader, index = RawReader(path), apsw.Connection(f"{path}-search")
    with open_store(path) as store:
        for name, (query, by_hand) in QUERIES.items():
            found = store.search(OWNER, Search(text=query, limit=HITS))
            assert found.hits, name
            ours = _searcher(store, query)
            raw = _by_hand(index, reader, by_hand)
            bar = RARE_BAR if query == RARE else USUAL_BAR
            yield slower(f"search, {name}", take_turns(ours, raw, world.times(SEARCHES)), bar)
    reader.close()
    index.close()


def _searcher(store: SqliteStore, query: str, owner: str = OWNER) -> Call:
    return lambda: store.search(owner, Search(text=query, limit=HITS))


def _by_hand(index: apsw.Connection, reader: RawReader, expression: str) -> Call:
    run = index.cursor().execute

    def search() -> None:
        for (pos,) in run(_RAW, (expression, HITS)).fetchall():
            reader.history(pos, pos, SESSION)

    return search


def small_owner(world: World) -> Iterator[Row]:
    """Search a common word for an owner of 100 among 100,000, against 100 alone."""
    with open_store(_indexed(world)) as large, open_store(_small(world)) as small:
        turns = take_turns(
            _searcher(large, COMMON, SMALL_OWNER),
            _searcher(small, COMMON, SMALL_OWNER),
            world.times(SEARCHES) * 5,
        )
        yield slower("search, an owner of 100 in 100,000", turns, 3)


@contextmanager
def _indexer_kept_out(path: Path) -> Iterator[None]:
    """Hold the index's lock, as another process that indexes would."""
    index = apsw.Connection(f"{path}-search")
    index.set_busy_timeout(10_000)  # it may be at work just now
    index.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        index.execute("ROLLBACK")
        index.close()


def unread(world: World) -> Iterator[Row]:
    """Search with 10,000 messages that are not indexed, then let the indexer catch up."""
    path = world.copy(_indexed(world))
    count = world.size(UNREAD)
    reader = RawReader(path)
    with open_store(path, "normal") as store:
        before = [time_of(_searcher(store, RARE)) for _ in range(ROUNDS)]
        with _indexer_kept_out(path):
            fill(store, SESSION, corpus(count))
            turns = take_turns(_searcher(store, RARE), _scanner(reader, count), 3)
        work = "search, with 10,000 messages not indexed"
        yield times_more(work, turns, median(before), 2)
    reader.close()
    yield _catching_up(world, count)


def _scanner(reader: RawReader, count: int) -> Call:
    first, last = reader.segment()
    first = last - count + 1

    def scan() -> int:
        return sum(RARE in body.decode().lower() for body in reader.bodies(first, last))

    return scan


def _catching_up(world: World, count: int) -> Row:
    """Index messages from the feed, against inserting their ready texts into as large an index."""
    texts = [segment(fold(searchable(message.parts))) for message in corpus(count)]
    ours, raw = [], []
    for _ in range(3):
        path = world.copy(_indexed(world))
        with open_store(path, "normal") as store:
            with _indexer_kept_out(path):
                fill(store, SESSION, corpus(count))
            ours.append(1e6 * count / time_of(store.finish_deletions))
        raw.append(1e6 * count / time_of(_inserter(world.copy(_indexed(world)), texts)))
    return faster("index 10,000 messages", ours, raw, 0.5, at_full=False)


def _inserter(path: Path, texts: list[str]) -> Callable[[], None]:
    connection = connect(Path(f"{path}-search"), "normal")
    last = connection.execute("SELECT max(rowid) FROM words").fetchall()[0][0]

    def insert() -> None:
        rest = iter(enumerate(texts, last + 1))
        while batch := list(islice(rest, INDEX_BATCH)):
            with connection:
                connection.executemany("INSERT INTO words (rowid, said) VALUES (?, ?)", batch)

    return insert


def append_beside_indexer(world: World) -> Iterator[Row]:
    """Append while the indexer works on a backlog, against the same with the indexer kept out."""
    path, store = world.new_store("indexing")
    turns = Turns()
    with store:
        store.finish_deletions()
        append = appender(store, [SESSION])
        with _indexer_kept_out(path):
            go_round(path, append)
        for _ in range(ROUNDS):
            with _indexer_kept_out(path):
                fill(store, SESSION, corpus(3_000))
                turns.raw.append(_times(append, world.times(APPENDS)))
            turns.ours.append(_times(append, world.times(APPENDS)))
    yield slower("append beside the indexer, p99", turns, 1.3, at_full=True, share=0.99)


def _times(call: Call, count: int) -> list[float]:
    calm()
    return [time_of(call) for _ in range(count)]


def index_on_disk(world: World) -> Iterator[Row]:
    """Compare the files of a database and its index with the raw table."""
    path = _indexed(world)
    table = world.new_raw("search", "normal")
    rows = table.records(corpus(world.size(MANY)))
    while batch := list(islice(rows, 1_000)):
        table.append_all(batch)
    table.close()
    ours = sum(Path(f"{path}{suffix}").stat().st_size for suffix in ("", "-search"))
    count = world.size(MANY)
    raw = table.path.stat().st_size
    yield larger("bytes on disk with the index", "B", ours / count, raw / count, 2)
