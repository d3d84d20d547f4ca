"""A walk through appending, branching and reading in the memory store."""

from __future__ import annotations

import pytest

from sapwood.errors import MessageConflictError, NotFoundError, StaleTipError
from sapwood.model import ROOT, Read
from sapwood.stores.memory import MemoryStore

from .acts import OWNER, append, context, new, shown


def test_a_refused_batch_changes_nothing(store: MemoryStore) -> None:
    append(store, "m1 m2")
    before = store.read(OWNER, "a", Read())
    for batch, error in (
        ({"ids": "m3 m3"}, MessageConflictError),
        ({"ids": "m3 m1"}, MessageConflictError),
        ({"ids": "m3", "parent": "unknown"}, NotFoundError),
        ({"ids": "m3", "expected_tip": "m1"}, StaleTipError),
    ):
        with pytest.raises(error):
            append(store, **batch)
    assert store.read(OWNER, "a", Read()) == before


def test_a_retry_writes_nothing_and_leaves_the_tip(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    again = store.append(OWNER, "a", [new("m1"), new("m2")], expected_tip=ROOT)
    assert (again.written, again.tip) == (0, "m3")
    more = store.append(OWNER, "a", [new("m3"), new("m4")], expected_tip="m2")
    assert (more.written, more.tip) == (1, "m4")


def test_branches_in_one_session(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    append(store, "n3", parent="m2")
    append(store, "n1", parent=ROOT)
    assert [leaf.id for leaf in store.list_leaves(OWNER, "a")] == ["m3", "n3", "n1"]
    assert [m.id for m in store.list_children(OWNER, "a", "m2")] == ["m3", "n3"]
    assert [m.id for m in store.list_children(OWNER, "a", ROOT)] == ["m1", "n1"]
    assert shown(store, leaf="n3") == "m1 m2 n3"
    store.checkout(OWNER, "a", "m3")
    assert context(store) == 30
    append(store, "m4")
    assert shown(store) == "m1 m2 m3 m4"
    store.checkout(OWNER, "a", ROOT)
    assert context(store) == 0


def test_limits_count_what_is_shown(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4 m5")
    store.delete_messages(OWNER, "a", ["m4"])
    assert shown(store, limit=3) == "m1 m2 m3"
    assert shown(store, limit=3, backwards=True) == "m2 m3 m5"
    assert shown(store, after=1, before=5) == "m2 m3"
    assert store.read(OWNER, "a", Read(after=1, before=5, limit=2)).more is False
    assert store.read(OWNER, "a", Read(max_bytes=1)).more is True
    assert shown(store, max_bytes=1, backwards=True) == "m5"


def test_a_batch_may_have_any_number_of_messages(store: MemoryStore) -> None:
    store.append(OWNER, "a", [new(f"m{number}") for number in range(10_001)])
    assert len(store.read(OWNER, "a", Read()).messages_only) == 10_001
