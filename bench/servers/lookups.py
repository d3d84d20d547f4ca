"""What a server looks up among little and among much, and what comes along with an append."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import cycle, islice
from typing import Any

from measure import Call, take_turns, time_of
from messages import messages
from row import Row, slower
from workloads import BATCH, BLOCK, DISTINCT, OWNER, POOL, SHALLOW, World

import sapwood
from sapwood.model import DocumentPut, NewMessage, NewSession, SessionPatch, SessionQuery, TextPart
from sapwood.store import AsyncStore, Capability

ALIKE = 1.3
FEW_CHANGES, MANY_CHANGES = 10, 10_000
FEW_SESSIONS, MANY_SESSIONS = 100, 20_000
WANTED = 10
TAG, TITLE = "wanted", "Where is order"
FEW_DOCUMENTS, MANY_DOCUMENTS = 1_000, 40_000
RANGE = 20
FEW_OF_OTHERS, MANY_OF_OTHERS = 1_000, 100_000
PAGE = 20

Doing = Callable[[AsyncStore], Awaitable[Any]]


def unit(world: World) -> Iterator[Row]:
    """Append a message with two documents and a patch, against one that comes alone."""
    name = world.new_session(SHALLOW)
    alone = world.appender(name)
    new = cycle(list(messages(DISTINCT)))
    documents = [DocumentPut(key=key, value=b"a turn that is open") for key in ("turn", "lease")]
    states = cycle(["active", "busy"])

    def whole() -> None:
        patch = SessionPatch(state=next(states))
        world.store.append(OWNER, name, [next(new)], documents=documents, patch=patch)

    yield _turns(world, "append with two documents and a patch, against one without", whole, alone)


def data(world: World) -> Iterator[Row]:
    """Append with data, against raw; find what a session has now after many changes of it."""
    if Capability.DATA not in world.store.capabilities:
        return
    name = world.new_session(SHALLOW)
    new = cycle(list(messages(DISTINCT)))
    states = cycle([{"step": step, "cart": ["a book", "a pen"]} for step in range(DISTINCT)])

    def append() -> None:
        world.store.append(OWNER, name, [next(new)], data=next(states))

    raw = world.raw_appender(name, SHALLOW)
    bar = max(1.5, world.kind.append_bar)
    yield _turns(world, "append with data, against a raw append", append, raw, bar)
    many, few = (_current_data(world, size) for size in (MANY_CHANGES, FEW_CHANGES))
    yield _turns(world, "current data at 10,000 changes, against 10", many, few, ALIKE)


def _current_data(world: World, changes: int) -> Call:
    owner, session = f"data-{changes}", "s"

    def change(number: int, message: NewMessage) -> Doing:
        return lambda it: it.append(owner, session, [message], data={"step": number})

    world.store.create_session(owner, NewSession(id=session))
    new = enumerate(islice(cycle(messages(DISTINCT)), world.size(changes)))
    _do_together(world, (change(number, message) for number, message in new))

    def look() -> None:
        record = world.store.find_session(owner, session)
        assert record is not None
        assert record.data_at is not None
        assert world.store.read_data(owner, session, record.data_at) is not None

    return look


def sessions(world: World) -> Iterator[Row]:
    """Find ten sessions by a tag, and ten by the beginning of their titles, among many."""
    owners = [_with_sessions(world, size) for size in (MANY_SESSIONS, FEW_SESSIONS)]
    for what, query in (
        ("tag", SessionQuery(tags=[TAG])),
        ("title", SessionQuery(title_prefix=TITLE)),
    ):
        many, few = (_finder(world, owner, query) for owner in owners)
        yield _turns(world, f"sessions by {what} among 20,000, against 100", many, few, ALIKE)


def _with_sessions(world: World, size: int) -> str:
    owner, number = f"sessions-{size}", max(FEW_SESSIONS, world.size(size))

    def create(n: int) -> Doing:
        is_wanted = n % (number // WANTED) == 0
        title, tags = (f"{TITLE} {n}?", [TAG, "shop"]) if is_wanted else (f"Chat {n}", ["shop"])
        return lambda it: it.create_session(owner, NewSession(id=f"s{n}", title=title, tags=tags))

    _do_together(world, (create(n) for n in range(number)))
    return owner


def _finder(world: World, owner: str, query: SessionQuery) -> Call:
    def find() -> None:
        assert len(world.store.list_sessions(owner, query).sessions) == WANTED

    return find


def documents(world: World) -> Iterator[Row]:
    """List a range of a session's documents, among many."""
    many, few = (_lister(world, size) for size in (MANY_DOCUMENTS, FEW_DOCUMENTS))
    yield _turns(world, "range of 20 among 40,000 documents, against 1,000", many, few, ALIKE)


def _lister(world: World, size: int) -> Call:
    owner, session = f"documents-{size}", "s"
    world.store.create_session(owner, NewSession(id=session))
    for first in range(0, max(FEW_DOCUMENTS, world.size(size)), BATCH):
        batch = [DocumentPut(key=f"d{n:06}", value=b"a turn") for n in range(first, first + BATCH)]
        world.store.put_documents(owner, session, batch)

    def look() -> None:
        found = world.store.list_documents(
            owner, "d", session=session, after="d000500", limit=RANGE
        )
        assert len(found) == RANGE

    return look


def feed(world: World) -> Iterator[Row]:
    """Read a page of the change feed, whose changes lie among those of others."""
    many, few = (_reader(world, size) for size in (MANY_OF_OTHERS, FEW_OF_OTHERS))
    work = "page of the feed beside 100,000 changes of others, against 1,000"
    yield _turns(world, work, many, few, ALIKE)


def _reader(world: World, size: int) -> Call:
    """Return a call that reads an owner's changes, between each two of which others wrote."""
    owner, other = f"feed-{size}", f"beside-{size}"
    for it in (owner, other):
        world.store.create_session(it, NewSession(id="s"))
    own = messages(2 * PAGE)
    ok = NewMessage(role="user", parts=[TextPart(text="ok")])
    for message in own:
        left = world.size(size) // (2 * PAGE)
        while left > 0:
            world.store.append(other, "s", [ok] * min(left, BATCH))
            left -= BATCH
        world.store.append(owner, "s", [message])

    def read() -> None:
        assert len(world.store.changes(owner, limit=PAGE).changes) == PAGE

    return read


def _turns(world: World, work: str, ours: Call, other: Call, bar: float = 1.5) -> Row:
    for call in (ours, other):
        time_of(call, 20)
    turns = take_turns(ours, other, world.times(100), block=BLOCK)
    return slower(f"{world.kind.name}: {work}", turns, bar)


def _do_together(world: World, doing: Iterable[Doing]) -> None:
    """Do things on an event loop, some at a time."""
    asyncio.run(_together(world, iter(doing)))


async def _together(world: World, doing: Iterator[Doing]) -> None:
    async with sapwood.open_async(world.url, owner=OWNER) as manager:
        while some := list(islice(doing, POOL)):
            await asyncio.gather(*(do(manager.store) for do in some))


LOOKUPS = {"unit": unit, "data": data, "sessions": sessions, "documents": documents, "feed": feed}
