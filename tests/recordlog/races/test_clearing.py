"""What outlives a clear, and what is read while another clears or deletes."""

from __future__ import annotations

import pytest

from sapwood.errors import (
    NotFoundError,
)
from sapwood.model import (
    EntryRef,
    ForkPoint,
    NewOverlay,
    NewSession,
    Read,
    SessionPatch,
    SessionQuery,
    Usage,
)
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey, LogKind
from sapwood.testing.makers import ADA, say, shown

from .support import PausedStore, texts


@pytest.mark.parametrize("before", range(28, 34))
def test_a_document_outlives_a_clear_whichever_record_it_was_put_by(
    store: PausedStore, before: int
) -> None:
    for _ in range(before):
        store.append(ADA, "s", [say(None, "x")])
    store.put_document(ADA, "k", b"v", session="s")
    store.clear_session(ADA, "s")
    found = store.find_document(ADA, "k", session="s")
    assert found is not None
    assert found.value == b"v"


@pytest.mark.parametrize("before", range(28, 34))
def test_usage_outlives_a_clear_whichever_record_it_was_counted_by(
    store: PausedStore, before: int
) -> None:
    for _ in range(before):
        store.append(ADA, "s", [say(None, "x")])
    store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=1))
    store.clear_session(ADA, "s")
    assert store.total_usage(ADA, "s", by="message")[0].input_tokens == 1


@pytest.mark.parametrize("call", ["spans", "get"])
def test_a_session_that_is_cleared_while_it_is_read_is_not_damaged(
    store: PausedStore, other: PausedStore, call: str
) -> None:
    for _ in range(40):
        store.append(ADA, "s", [say(None, "x")])
    if call == "spans":
        store.log.before("spans", lambda: other.clear_session(ADA, "s"))
        assert shown(store.read(ADA, "s", Read())) == []
    else:
        records = lambda keys: keys[0].kind is LogKind.RECORD and keys[0].id.endswith("001")  # noqa: E731
        store.log.before("get", lambda: other.clear_session(ADA, "s"), records)
        assert store.find_messages(ADA, "s", ["m1"]) == [None]


def test_a_session_that_is_cleared_while_it_is_copied_is_not_damaged(
    store: PausedStore, other: PausedStore
) -> None:
    store.log.before("spans", lambda: other.clear_session(ADA, "s"))
    new = NewSession(id="d", fork=ForkPoint(session="s", message=None, detach=True))
    assert store.create_session(ADA, new).messages == 0


def test_a_session_that_is_deleted_while_it_is_read_is_gone(
    store: PausedStore, other: PausedStore
) -> None:
    store.log.before("spans", lambda: other.delete_session(ADA, "s"))
    with pytest.raises(NotFoundError):
        store.read(ADA, "s", Read())


def test_overlays_that_are_cleared_while_they_are_listed_are_gone(
    store: PausedStore, other: PausedStore
) -> None:
    first, last = EntryRef(kind="message", id="m1"), EntryRef(kind="message", id="m2")
    store.add_overlay(ADA, "s", NewOverlay(first=first, last=last, summary="sum"))
    three = lambda keys: keys[0].id.endswith("002")  # noqa: E731
    store.log.before("get", lambda: other.clear_session(ADA, "s"), three)
    assert store.list_overlays(ADA, "s") == []


def covered(store: PausedStore) -> None:
    first, last = EntryRef(kind="message", id="m1"), EntryRef(kind="message", id="m2")
    store.add_overlay(ADA, "s", NewOverlay(first=first, last=last, summary="sum"))
    store.put_document(ADA, "pins", b'["m1"]', session="s")


def test_what_is_edited_while_a_session_is_told_of_is_told_as_it_is(
    store: PausedStore, other: PausedStore
) -> None:
    covered(store)
    one = lambda keys: keys[0].id.endswith("001")  # noqa: E731
    edits = iter(range(9))

    def edit() -> None:
        other.update_message(ADA, "s", say("m1", f"edit {next(edits)}"))

    store.log.before("get", edit, one)
    assert store.update_session(ADA, "s", SessionPatch(title="t")).record.title == "t"
    store.log.before("get", edit, one)
    [listed] = store.list_sessions(ADA, SessionQuery()).sessions
    assert listed == other.find_session(ADA, "s")
    store.log.before("spans", edit)
    assert store.admin.check() == []


def test_what_is_erased_while_its_record_is_swept_is_not_put_back(
    store: PausedStore, other: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.append(ADA, "s", [say("m3", "lighthouse"), say("m4", "harbour")])
    store.create_session(ADA, NewSession(id="f", fork=ForkPoint(session="s", message="m3")))

    def erase() -> None:
        other.delete_messages(ADA, "f", ["m3"])
        other.finish_deletions()

    store.log.before("put", erase, lambda given: b"lighthouse" in given[0].data)
    store.delete_session(ADA, "s")
    assert b"lighthouse" not in texts(documents)
    assert shown(store.read(ADA, "f", Read())) == ["m1", "m2"]
