"""A walk through forks in the memory store."""

from __future__ import annotations

import pytest

from sapwood.errors import ConflictError, MessageConflictError
from sapwood.stores.memory import MemoryStore

from .acts import OWNER, append, context, cover, find, fork, new, shown


def test_a_fork_shares_the_path_and_nothing_after_it(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    store.put_document(OWNER, "block", b"text", session="a")
    store.put_document(OWNER, "lease", b"x", session="a", expires_in_s=60)
    fork(store, "b", "m2")
    append(store, "b3", session="b")
    append(store, "m3", session="b")
    assert shown(store, "b") == "m1 m2 b3 m3"
    assert shown(store) == "m1 m2 m3"
    assert [d.key for d in store.list_documents(OWNER, session="b")] == ["block"]
    with pytest.raises(MessageConflictError):
        store.append(OWNER, "b", [new("m1", "other")])
    with pytest.raises(ConflictError):
        store.update_message(OWNER, "b", new("m1", "edited"))
    with pytest.raises(ConflictError):
        store.delete_messages(OWNER, "b", ["m1"])
    assert [m.id for m in store.list_children(OWNER, "b", "m2")] == ["b3"]
    assert [leaf.id for leaf in store.list_leaves(OWNER, "b")] == ["m3"]


def test_sums_of_sessions_that_share_an_edited_message_follow(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    fork(store, "b", "m2")
    fork(store, "c", "m2")
    append(store, "b3", session="b")
    store.update_message(OWNER, "a", new("m1", "longer", tokens=100))
    assert context(store) == 120
    append(store, "b4", session="b")
    assert context(store, "b") == 130
    store.delete_messages(OWNER, "a", ["m1"])
    store.finish_deletions()
    assert (context(store), context(store, "b"), context(store, "c")) == (20, 30, 10)


def test_a_detached_fork_has_a_tree_of_its_own(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    cover(store, "m1", "m2", id="o")
    store.delete_messages(OWNER, "a", ["m2"])
    fork(store, "b", "m3", detach=True)
    store.update_message(OWNER, "a", new("m3", "edited"))
    record = store.find_session(OWNER, "b")
    assert record is not None
    assert (record.messages, record.forked_at, record.tip) == (2, None, "m3")
    assert shown(store, "b") == "[o] m3"
    assert shown(store, "b", overlays=False) == "m1 m3"
    assert find(store, "b", "m3").text == "m3"
    assert find(store, "b", "m3").home == "b"
