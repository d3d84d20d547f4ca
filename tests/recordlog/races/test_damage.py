"""A damaged record is told of, and in nobody's way."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sapwood.errors import (
    StoreCorruptError,
)
from sapwood.model import (
    NewSession,
    Read,
    Usage,
)
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey, LogKind
from sapwood.testing.makers import ADA, fork_of, say

from .support import PausedStore, texts


def damage(documents: dict[LogKey, LogDocument], text: bytes) -> None:
    for key, it in documents.items():
        if text in it.data:
            documents[key] = replace(it, data=b"\xc1damage")


def test_a_damaged_document_that_was_put_again_is_in_nobodys_way(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.put_document(ADA, "k", b"broken", session="s")
    damage(documents, b"broken")
    store.put_document(ADA, "k", b"whole", session="s")
    for n in range(40):
        store.append(ADA, "s", [say(f"x{n}")])
    store.finish_deletions()
    found = store.find_document(ADA, "k", session="s")
    assert found is not None
    assert found.value == b"whole"


def test_a_damaged_session_can_be_deleted_and_its_owner_erased(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.append(ADA, "s", [say("m3", "secret")])
    damage(documents, b"m1")
    store.delete_session(ADA, "s")
    store.finish_deletions()
    assert b"secret" not in texts(documents)
    assert b"damage" not in texts(documents)
    store.erase_owner(ADA)
    assert store.admin.list_owners() == []


def test_a_damaged_record_that_a_fork_may_stand_on_is_left(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.append(ADA, "s", [say("m3")])
    store.create_session(ADA, fork_of("s", "m2"))
    store.append(ADA, "s", [say("m4", "secret")])
    damage(documents, b"m1")
    store.delete_session(ADA, "s")
    store.finish_deletions()
    assert b"secret" not in texts(documents)
    with pytest.raises(StoreCorruptError):
        store.read(ADA, "fork", Read())


def test_a_session_whose_state_is_damaged_is_told_by_a_check_and_hides_no_other(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.create_session(ADA, NewSession(id="t"))
    store.append(ADA, "t", [say("t1", "secret")])
    store.put_document(ADA, "k", b"old value", session="t")
    store.put_document(ADA, "k", b"new value", session="t")
    for key, it in documents.items():
        if it.kind is LogKind.RECORD and it.n == 0 and b"s" in it.data and b"\xa1t" not in it.data:
            documents[key] = replace(it, data=b"\xc1damage")
    [problem] = other.admin.check()
    assert problem.kind == "session"
    assert "'s'" in problem.where
    with pytest.raises(StoreCorruptError):
        other.finish_deletions()
    assert b"old value" not in texts(documents)
    assert [it.kind for it in other.admin.repair()] == ["session"]


def test_rule_08_a_look_up_that_cannot_be_decoded_is_told(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=1))
    store.finish_deletions()
    for key, it in documents.items():
        if it.kind is LogKind.LOOKUP:
            documents[key] = replace(it, data=b"\xc1damage")
    with pytest.raises(StoreCorruptError):
        store.find_messages(ADA, "s", ["m1"])
    with pytest.raises(StoreCorruptError):
        store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=1))
    assert len(store.admin.check()) == 2
    assert store.admin.repair() == []
    assert store.find_messages(ADA, "s", ["m1"]) != [None]
