"""Pages of a search on SQLite stay right, wherever the index is when each is asked for."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tier import often

from sapwood.errors import NotFoundError
from sapwood.model import Hits, NewSession, Search
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.index import indexer
from sapwood.stores.sqlite.index.file import index_path
from sapwood.stores.sqlite.search_scope import Scope
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, say

MINUTE_US = 60_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> Iterator[SqliteStore]:
    """Open a store whose index is filled by `finish_deletions` alone."""
    monkeypatch.setattr(indexer, "REST_S", 3_600)
    new_id = IdMaker(clock, os.urandom)
    with SqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id, durability="normal") as opened:
        opened.create_session(ADA, NewSession(id="s"))
        yield opened


def ask(store: SqliteStore, cursor: str | None = None, limit: int = 2, text: str = "x") -> Hits:
    return store.search(ADA, Search(text=text, limit=limit, cursor=cursor))


def ids(hits: Hits) -> list[str]:
    return [hit.entry.id for hit in hits.hits]


class Chat:
    """Does what may happen between two pages, at random; knows what has to be found."""

    def __init__(self, store: SqliteStore, clock: ManualClock, seed: int) -> None:
        self._store = store
        self._clock = clock
        self._random = Random(seed)
        self._numbers = itertools.count()
        self.found: set[str] = set()
        self._messages: list[str] = []
        self._covered: set[str] = set()
        for session in "ab":
            store.create_session(ADA, NewSession(id=session))
        self.act(40)

    def act(self, most: int) -> None:
        """Do something up to so many times."""
        for _ in range(self._random.randrange(most)):
            self._clock.advance(self._random.choice([0, 0.1]))
            getattr(self, self._random.choice(["_say", "_say", "_edit", "_cover", "_delete"]))()
            if self._random.random() < 0.15:
                self._store.finish_deletions()

    def _say(self) -> None:
        news = [f"m{next(self._numbers)}" for _ in range(self._random.randrange(1, 4))]
        at = self._clock() - self._random.choice([0, MINUTE_US])
        session = self._random.choice("ab")
        self._store.append(ADA, session, [say(f"{session}{id}", "x", created_us=at) for id in news])
        self._messages += [f"{session}{id}" for id in news]
        self.found |= {f"{session}{id}" for id in news}

    def _edit(self) -> None:
        if self._messages:
            id, text = self._random.choice(self._messages), self._random.choice("xxxy")
            self._store.update_message(ADA, id[0], say(id, text))
            (self.found.add if text == "x" else self.found.discard)(id)

    def _cover(self) -> None:
        shown = [id for id in self._messages if id not in self._covered]
        if shown:
            id, own = self._random.choice(shown), f"o{next(self._numbers)}"
            self._covered.add(id)
            self._store.add_overlay(ADA, id[0], cover(id, id, id=own, summary="x"))
            self.found.add(own)

    def _delete(self) -> None:
        if self._messages:
            id = self._random.choice(self._messages[-6:])
            self._messages.remove(id)
            self._store.delete_messages(ADA, id[0], [id])
            self.found.discard(id)


@pytest.mark.parametrize("seed", range(often(20, 400)))
def test_whatever_happens_between_pages_nothing_comes_twice_or_is_left_out(
    store: SqliteStore, clock: ManualClock, seed: int
) -> None:
    chat = Chat(store, clock, seed)
    limit = 1 + seed % 4
    always = set(chat.found)
    hits = ask(store, limit=limit)
    given = ids(hits)
    while hits.cursor is not None:
        chat.act(6)
        always &= chat.found
        hits = ask(store, hits.cursor, limit)
        assert set(ids(hits)) <= chat.found
        given += ids(hits)
    assert len(given) == len(set(given))
    assert always <= set(given)


def test_a_place_in_an_index_that_was_made_anew_is_gone(store: SqliteStore, tmp_path: Path) -> None:
    store.append(ADA, "s", [say(f"m{n}", "x") for n in range(6)])
    store.finish_deletions()
    asked = [(1, "x"), (2, "x"), (2, "x OR y")]
    store.append(ADA, "s", [say("new", "x")])
    given = [(ask(store, None, limit, text).cursor, limit, text) for limit, text in asked]
    assert ids(ask(store, *given[1])) == ["m4", "m3"]
    Path(index_path(str(tmp_path / "s.db"))).unlink()
    for _ in range(2):
        for place in given:
            with pytest.raises(NotFoundError) as raised:
                ask(store, *place)
            assert raised.value.kind == "cursor"
        if len(given) == 3:
            # A ranking is worked out for each page.
            store.finish_deletions()
            assert ids(ask(store, *given.pop()))


def test_pages_that_began_without_an_index_go_on_without_it(store: SqliteStore) -> None:
    store.append(ADA, "s", [say(f"m{n}", "x") for n in range(6)])
    first = ask(store)
    assert ids(first) == ["m5", "m4"]
    store.finish_deletions()
    store.append(ADA, "s", [say("new", "x")])
    second = ask(store, first.cursor)
    assert ids(second) == ["m3", "m2"]
    assert ids(ask(store, second.cursor)) == ["m1", "m0"]


@pytest.mark.parametrize("settles", [False, True])
def test_a_page_costs_what_it_gives(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, settles: bool
) -> None:
    """However many pages came before it, whether or not the index has what it gives."""
    store.append(ADA, "s", [say(f"old{n}", "x") for n in range(300)])
    store.finish_deletions()
    store.append(ADA, "s", [say(f"new{n}", "x") for n in range(300)])
    looked_at: list[int] = []
    at_all = Scope.at_all

    def noted(self: Scope, positions: list[int]) -> object:
        looked_at.append(len(positions))
        return at_all(self, positions)

    monkeypatch.setattr(Scope, "at_all", noted)
    cursor, given = None, list[str]()
    while True:
        looked_at.clear()
        page = ask(store, cursor, 20)
        given += ids(page)
        assert sum(looked_at) <= 21
        cursor = page.cursor
        if cursor is None:
            break
        if settles and len(given) == 100:
            store.finish_deletions()
    assert given == [f"{name}{n}" for name in ("new", "old") for n in reversed(range(300))]
