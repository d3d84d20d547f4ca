"""A walk through the change feed of the memory store."""

from __future__ import annotations

import pytest

from sapwood.errors import NotFoundError
from sapwood.model import ChangeKind, NewSession
from sapwood.stores.memory import MemoryStore
from sapwood.testing.makers import ids_told

from .acts import OWNER, Clock, append


def test_the_feed_tells_what_happened_and_what_went(store: MemoryStore) -> None:
    append(store, "m1 m2")
    store.create_session(OWNER, NewSession(id="b"))
    append(store, "x", session="b")
    page = store.changes(OWNER, limit=3)
    assert (ids_told(page), page.more) == (["m1", "m2"], True)
    store.delete_session(OWNER, "b")
    rest = store.changes(OWNER, after=page.cursor)
    assert [(c.kind, c.session) for c in rest.changes] == [(ChangeKind.RETIRE, "b")]
    assert store.changes(OWNER, after=rest.cursor).changes == []


def test_the_feed_is_trimmed_behind_its_slowest_reader(store: MemoryStore, clock: Clock) -> None:
    append(store, "m1 m2")
    first = store.changes(OWNER, limit=2).cursor
    store.changes(OWNER, after=store.changes(OWNER).cursor, reader="fast")
    store.changes(OWNER, after=first, reader="slow")
    clock.now += 10_000_000_000
    store.finish_deletions()
    assert ids_told(store.changes(OWNER, after=first)) == ["m2"]
    store.changes(OWNER, after=store.changes(OWNER).cursor, reader="slow")
    store.finish_deletions()
    with pytest.raises(NotFoundError):
        store.changes(OWNER, after=first)
    assert store.changes(OWNER).changes == []
