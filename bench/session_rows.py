"""Sessions: forks, lists by pages, and deleting a large one while others append."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import apsw
from append_rows import appender, raw_appender
from measure import ROUNDS, Call, Turns, calm, take_turns, time_of
from row import Row, alike, slower
from world import OWNER, SESSION, World, go_round, open_store

from sapwood.model import ForkPoint, NewSession, Read, SessionPage, SessionQuery
from sapwood.stores.sqlite import SqliteStore

SHALLOW, DEEP = 10, 10_000
FORKS = 60
PAGE = 50
LISTS = 200
LIVE = "live"
APPENDS = 200


def forks(world: World) -> Iterator[Row]:
    """Fork at depth 10 and at depth 10,000, against each other and against a raw commit."""
    path = world.copy(world.with_100_000())
    deep = min(DEEP, world.size(100_000) - 1)
    with open_store(path) as store, closing(world.new_raw("fork")) as table:
        shallow_fork, deep_fork = _forker(store, SHALLOW), _forker(store, deep)
        raw = raw_appender(table)
        go_round(path, shallow_fork)
        go_round(table.path, raw)
        many = world.times(FORKS)
        each_other = take_turns(deep_fork, shallow_fork, many)
        yield alike("fork at depth 10,000, against depth 10", each_other, 1.2)
        for depth, call in ((SHALLOW, shallow_fork), (DEEP, deep_fork)):
            turns = take_turns(call, raw, many)
            yield slower(f"fork at depth {depth:,}, against raw", turns, 3, at_full=True)


def _forker(store: SqliteStore, depth: int) -> Call:
    """Return a call that forks the session at a depth."""
    query = Read(after=depth - 1, limit=1)
    [message] = store.read(OWNER, SESSION, query).messages_only
    assert message.depth == depth
    point = ForkPoint(session=SESSION, message=message.id)
    numbers = count()

    def fork() -> None:
        store.create_session(OWNER, NewSession(id=f"fork-{depth}-{next(numbers)}", fork=point))

    return fork


def pages(world: World) -> Iterator[Row]:
    """List 10,000 sessions by pages: the last page, against the first."""
    path, names = world.with_10_000_sessions()
    with open_store(path) as store:
        cursors: list[str | None] = [None]
        while (after := store.list_sessions(OWNER, _page(cursors[-1])).cursor) is not None:
            cursors.append(after)
        assert len(cursors) == len(names) // PAGE

        def last() -> SessionPage:
            return store.list_sessions(OWNER, _page(cursors[-1]))

        def first() -> SessionPage:
            return store.list_sessions(OWNER, _page(None))

        assert len(last().sessions) == len(first().sessions) == PAGE
        turns = take_turns(last, first, world.times(LISTS))
    yield slower("last page of 10,000 sessions, against the first", turns, 1.2)


def _page(cursor: str | None) -> SessionQuery:
    return SessionQuery(limit=PAGE, cursor=cursor)


def delete_large(world: World) -> Iterator[Row]:
    """Append while 100,000 messages are being deleted, against the same without."""
    path = world.copy(world.with_100_000())
    many = world.times(APPENDS)
    turns = Turns()
    with open_store(path) as store:
        store.create_session(OWNER, NewSession(id=LIVE))
        append = appender(store, [LIVE])
        go_round(path, append)
        turns.raw += [_round(append, many) for _ in range(ROUNDS)]
        store.delete_session(OWNER, SESSION)
        while len(turns.ours) < ROUNDS and _is_being_swept(path):
            times = _round(append, many)
            if _is_being_swept(path):
                turns.ours.append(times)
    assert world.quick or len(turns.ours) == ROUNDS, "the deletion was over too soon"
    del turns.raw[len(turns.ours) :]
    path.unlink()
    if not turns.ours:
        return
    work = "append while 100,000 messages are deleted, p99"
    yield slower(work, turns, 10, at_full=True, share=0.99)


def _round(call: Call, many: int) -> list[float]:
    calm()
    return [time_of(call) for _ in range(many)]


def _is_being_swept(path: Path) -> bool:
    """Whether rows of the deleted session are still to be removed."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as raw:
        return bool(raw.execute("SELECT EXISTS (SELECT 1 FROM sweep)").fetchall()[0][0])
