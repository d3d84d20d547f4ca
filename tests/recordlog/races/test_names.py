"""Owners, names and overlays that two make or take away at once."""

from __future__ import annotations

import pytest

from sapwood.errors import (
    ConflictError,
)
from sapwood.model import (
    ROOT,
    EntryRef,
    NewOverlay,
    NewSession,
    Read,
)
from sapwood.stores.recordlog import cache
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, say, shown

from .support import Hook, Paused, PausedStore, fail


def test_an_owner_may_be_erased_by_two_at_once(store: PausedStore, other: PausedStore) -> None:
    store.create_session(ADA, NewSession(id="t"))
    store.log.before("create", lambda: other.erase_owner(ADA))
    store.erase_owner(ADA)
    assert store.admin.list_owners() == []


def test_rule_01_a_session_made_while_its_owner_is_erased_is_there_or_not(
    store: PausedStore, other: PausedStore
) -> None:
    def go_on() -> None:
        other.create_session(ADA, NewSession(id="new"))
        other.append(ADA, "new", [say("n1")])

    # The first two look for sessions; the third is for their entries.
    store.log.before("entries", lambda: store.log.before("entries", again))
    again: Hook = lambda: store.log.before("entries", go_on)  # noqa: E731
    store.erase_owner(ADA)
    other.append(ADA, "new", [say("n2")])
    third = PausedStore(ManualClock(), other.log)
    assert shown(third.read(ADA, "new", Read())) == ["n1", "n2"]


def test_an_owner_who_puts_a_document_after_being_erased_is_listed(
    store: PausedStore, other: PausedStore
) -> None:
    store.put_document(ADA, "k", b"v")
    other.erase_owner(ADA)
    store.put_document(ADA, "k", b"w")
    assert store.admin.list_owners() == [ADA]


def test_what_an_owner_had_may_be_asked_for_before_searches_see_that_it_went(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    late = PausedStore(ManualClock(), Paused(documents, lag=1000))
    for n in range(3):
        store.put_document(ADA, "k", b"%d" % n)
    store.erase_owner(ADA)
    assert late.find_document(ADA, "k") is None


def test_a_session_made_again_is_found_by_one_who_knew_the_first_as_a_home(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.create_session(ADA, fork_of("s"))
    assert shown(other.read(ADA, "fork", Read())) == ["m1", "m2"]
    store.log.before("put", fail)
    store.delete_session(ADA, "s")
    store.create_session(ADA, NewSession(id="s"))
    assert other.find_session(ADA, "s") is not None


def test_names_of_sessions_that_are_gone_are_not_remembered(
    store: PausedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered = store._runner.logs.cache  # type: ignore[attr-defined]
    for n in range(20):
        store.create_session(ADA, NewSession(id=f"x{n}"))
        store.delete_session(ADA, f"x{n}")
    assert isinstance(remembered, cache.StateCache)
    assert len(remembered._names) == 1


def test_a_name_that_was_used_often_is_found_with_a_few_looks(
    store: PausedStore, other: PausedStore
) -> None:
    for _ in range(40):
        store.create_session(ADA, NewSession(id="x"))
        store.delete_session(ADA, "x")
    store.create_session(ADA, NewSession(id="x"))
    other.log.calls.clear()
    assert other.find_session(ADA, "x") is not None
    assert len(other.log.calls) <= 12


def test_an_overlays_id_is_taken_by_a_fork_that_another_process_made(
    store: PausedStore, other: PausedStore
) -> None:
    store.create_session(ADA, fork_of("s", ROOT, id="mine"))
    store.append(ADA, "mine", [say("a"), say("b")])
    other.create_session(ADA, fork_of("s", "m2", id="theirs"))
    first, last = EntryRef(kind="message", id="m1"), EntryRef(kind="message", id="m2")
    other.add_overlay(ADA, "theirs", NewOverlay(id="o", first=first, last=last, summary="sum"))
    first, last = EntryRef(kind="message", id="a"), EntryRef(kind="message", id="b")
    with pytest.raises(ConflictError):
        store.add_overlay(ADA, "mine", NewOverlay(id="o", first=first, last=last, summary="sum"))
