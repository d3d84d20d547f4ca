"""A walk through what is left when sessions and owners go from the memory store."""

from __future__ import annotations

import pytest

from sapwood.errors import ConflictError
from sapwood.model import ROOT, NewSession, SessionPage, SessionQuery, Usage
from sapwood.stores.memory import MemoryStore
from sapwood.stores.recordlog.log_documents import LogKind

from .acts import OWNER, Clock, append, cover, find, fork, new, shown


def test_a_fork_keeps_what_it_stands_on_when_its_source_is_deleted(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4")
    append(store, "n3", parent="m2")
    cover(store, "m1", "m2", id="o")
    fork(store, "b", "m3")
    fork(store, "c", "m2", source="b")
    append(store, "c3", session="c")
    store.delete_session(OWNER, "a")
    assert shown(store, "b", overlays=False) == "m1 m2 m3"
    assert shown(store, "b") == "[o] m3"
    assert find(store, "b", "m3").home is None
    with pytest.raises(ConflictError):
        store.update_message(OWNER, "b", new("m3", "edited"))
    assert store.delete_messages(OWNER, "c", ["m1"]).quoting_overlays == ["o"]
    assert store.admin.check() == []
    store.delete_session(OWNER, "b")
    assert shown(store, "c") == "[o] c3"
    assert shown(store, "c", overlays=False) == "m2 c3"
    store.create_session(OWNER, NewSession(id="a"))
    append(store, "m1")
    assert shown(store) == "m1"
    store.delete_session(OWNER, "c")
    assert store.statistics(OWNER).overlays == 0


def test_nothing_is_left_of_what_nobody_stands_on(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    fork(store, "b", "m2")
    append(store, "b3", session="b")
    fork(store, "c", "b3", source="b")
    for session in "abc":
        store.delete_session(OWNER, session)
    shelf = store._runner.driver.shelf
    assert not shelf.segments
    left = list(shelf.documents.values())
    assert not [it for it in left if it.kind is LogKind.LOOKUP]
    assert not [it for it in left if it.kind is LogKind.RECORD and b"m1" in it.data]


def test_a_cleared_session_goes_on_empty(store: MemoryStore) -> None:
    append(store, "m1 m2")
    cover(store, "m1", "m2", id="o")
    fork(store, "b", "m1")
    store.put_document(OWNER, "pins", b'["m1"]', session="a")
    store.put_document(OWNER, "block", b"text", session="a")
    store.put_document(OWNER, "lease", b"", session="a", expires_in_s=60)
    record = store.clear_session(OWNER, "a")
    assert (record.tip, record.messages, record.context_tokens, record.version) == (ROOT, 0, 0, 2)
    assert [d.key for d in store.list_documents(OWNER, session="a")] == ["block"]
    assert store.list_overlays(OWNER, "a") == []
    assert store.list_leaves(OWNER, "a") == []
    store.append(OWNER, "a", [new("m1", "another")])
    assert find(store, "a", "m1").text == "another"
    assert find(store, "b", "m1").text == "m1"
    assert store.delete_messages(OWNER, "b", ["m1"]).ids == ["m1"]
    assert store.delete_messages(OWNER, "b", ["m1"]).ids == []
    assert shown(store) == "m1"


def test_an_erased_owner_has_nothing_left(store: MemoryStore) -> None:
    append(store, "m1 m2")
    fork(store, "b", "m1")
    fork(store, "c", "m2", source="a")
    store.put_document(OWNER, "note", b"x")
    store.create_session("bob", NewSession(id="a"))
    store.erase_owner(OWNER)
    store.erase_owner(OWNER)
    assert store.admin.list_owners() == ["bob"]
    assert store.changes(OWNER).changes == []
    assert store.find_session("bob", "a") is not None


class DeletesWhatItLists(MemoryStore):
    """A store from which another caller deletes a session right after each listing."""

    def list_sessions(self, owner: str, query: SessionQuery) -> SessionPage:
        page = super().list_sessions(owner, query)
        self.delete_session(owner, page.sessions[0].id)
        return page


def test_the_totals_of_an_owner_leave_out_a_session_that_goes_meanwhile() -> None:
    with DeletesWhatItLists(clock=Clock(), new_id=str) as store:
        for session, tokens in (("kept", 3), ("gone", 4)):
            store.create_session(OWNER, NewSession(id=session))
            store.add_usage(OWNER, session, Usage(id="u", model="m", input_tokens=tokens))
        assert [(it.calls, it.input_tokens) for it in store.total_owner_usage(OWNER)] == [(1, 3)]
