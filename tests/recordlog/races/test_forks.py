"""Forks and sweeps in each other's way."""

from __future__ import annotations

import pytest

from sapwood.errors import (
    ConflictError,
    NotFoundError,
    StoreUnavailableError,
)
from sapwood.model import (
    ForkPoint,
    NewSession,
    Read,
)
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey, LogKind
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, say, shown

from .support import Hook, PausedStore, Shared, fail, is_entry, texts


def test_a_fork_whose_name_another_took_is_in_nobodys_way(
    store: PausedStore, other: PausedStore
) -> None:
    store.log.before("create", lambda: other.create_session(ADA, NewSession(id="fork")), is_entry)
    with pytest.raises(ConflictError):
        store.create_session(ADA, fork_of("s"))
    store.delete_messages(ADA, "s", ["m1"])
    PausedStore(ManualClock(), store.log).delete_messages(ADA, "s", ["m2"])
    store.delete_session(ADA, "s")
    store.finish_deletions()
    other.finish_deletions()


def test_a_fork_that_is_not_born_when_its_source_is_cleared_has_nothing_to_stand_on(
    store: PausedStore, other: PausedStore
) -> None:
    store.log.before("create", lambda: other.clear_session(ADA, "s"), is_entry)
    with pytest.raises(NotFoundError):
        store.create_session(ADA, fork_of("s", "m1"))
    assert store.find_session(ADA, "fork") is None


def test_a_name_that_is_free_again_is_not_taken(store: PausedStore, other: PausedStore) -> None:
    def come_and_go() -> None:
        other.create_session(ADA, NewSession(id="n"))
        other.delete_session(ADA, "n")

    store.log.before("create", come_and_go, is_entry)
    assert store.create_session(ADA, NewSession(id="n")).id == "n"


def test_a_fork_that_is_not_born_when_its_source_goes_keeps_what_is_above_that(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    third = PausedStore(ManualClock(), Shared(documents))
    store.create_session(ADA, fork_of("s", id="f1"))
    third.read(ADA, "f1", Read())

    def delete_both() -> None:
        other.log.before("blank", lambda: None)
        # It is deleted, and what that leaves is not done yet.
        third.log.before("get", fail, lambda keys: keys and keys[0].kind is LogKind.ENTRY)
        third.delete_session(ADA, "f1")
        other.delete_session(ADA, "s")

    store.log.before("create", delete_both, is_entry)
    try:
        store.create_session(ADA, fork_of("f1", id="f2"))
    except NotFoundError:
        return
    assert shown(store.read(ADA, "f2", Read())) == ["m1", "m2"]


@pytest.mark.parametrize("what", ["edited", "cut off"])
def test_a_detached_fork_that_began_again_leaves_nothing_behind(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument], what: str
) -> None:
    store.append(ADA, "s", [say(f"x{n}", "secret") for n in range(300)])
    new = NewSession(id="d", fork=ForkPoint(session="s", message=None, detach=True))
    edit: Hook = lambda: other.update_message(ADA, "s", say("x290", "words"))  # noqa: E731
    hook = edit if what == "edited" else fail
    store.log.before("spans", lambda: store.log.before("spans", hook))
    if what == "edited":
        store.create_session(ADA, new)
        assert store.read(ADA, "d", Read()).messages_only[-10].text == "words"
    else:
        with pytest.raises(StoreUnavailableError):
            store.create_session(ADA, new)
    store.erase_owner(ADA)
    store.finish_deletions()
    left = [it for it in documents.values() if it.segment and it.data]
    assert left == []


def test_a_fork_of_a_session_that_goes_leaves_no_copies_of_its_documents(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.put_document(ADA, "k", b"secret", session="s")
    store.log.before("create", lambda: other.delete_session(ADA, "s"))
    with pytest.raises(NotFoundError):
        store.create_session(ADA, fork_of("s"))
    store.finish_deletions()
    assert b"secret" not in texts(documents)


def test_a_fork_leaves_no_copies_of_what_its_source_replaced_meanwhile(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.put_document(ADA, "k", b"secret", session="s")
    put: Hook = lambda: other.put_document(ADA, "k", b"words", session="s")  # noqa: E731
    store.log.before("create", put)
    store.create_session(ADA, fork_of("s"))
    found = store.find_document(ADA, "k", session="fork")
    assert found is not None
    assert found.value == b"words"
    store.finish_deletions()
    assert b"secret" not in texts(documents)


def test_what_was_emptied_is_not_put_back_by_one_who_read_it_before(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.append(ADA, "s", [say("m3"), say("m4", "secret")])
    store.log.before("put", lambda: other.delete_session(ADA, "s"))
    store.update_message(ADA, "s", say("m3", "other words"))
    store.finish_deletions()
    assert b"secret" not in texts(documents)


def test_an_entry_that_was_emptied_is_not_put_back(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.create_session(ADA, NewSession(id="a-name"))
    store.log.before("put", lambda: other.erase_owner(ADA))
    store.delete_session(ADA, "a-name")
    assert b"a-name" not in texts(documents)


def test_a_sweep_that_failed_above_is_finished_by_settling(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.append(ADA, "s", [say("m3", "secret")])
    store.create_session(ADA, fork_of("s"))
    store.append(ADA, "fork", [say("f1")])
    store.delete_session(ADA, "s")
    home = next(it.log for it in documents.values() if it.kind is LogKind.RECORD and it.n == 1)
    store.log.before("blank", fail, lambda keys: home in keys[0].id.split("/")[1])
    store.delete_session(ADA, "fork")
    store.finish_deletions()
    assert b"secret" not in texts(documents)


@pytest.mark.parametrize("end", ["delete_session", "clear_session"])
def test_a_sweep_does_not_count_for_what_was_retired_after_it(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument], end: str
) -> None:
    def say_and_go() -> None:
        other.append(ADA, "s", [say("m3", "secret")])
        other.log.before("blank", fail)
        getattr(other, end)(ADA, "s")

    store.log.before("blank", say_and_go)
    store.clear_session(ADA, "s")
    store.finish_deletions()
    assert b"secret" not in texts(documents)
