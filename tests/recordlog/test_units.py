"""What came along with a write is in its record: how long it stays there, and when it goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from recordlog._sync.dictionary import DictionaryDriver
from recordlog.stores import DictionaryStore
from sapwood.errors import MessageTooLargeError, StoreUnavailableError
from sapwood.model import DocumentDelete, DocumentPut, NewSession, Read, SessionPatch
from sapwood.stores.recordlog.log_documents import LogDocument, LogKind
from sapwood.stores.recordlog.record import decode_record, open_record
from sapwood.stores.recordlog.work import Append
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, say, shown

WRITES: dict[str, Callable[..., Any]] = {
    "append": lambda store, documents: store.append(
        ADA, "s", [say("new", "words")], documents=documents, patch=SessionPatch(title="a-title")
    ),
    "update_message": lambda store, documents: store.update_message(
        ADA, "s", say("m1", "words"), documents=documents, patch=SessionPatch(title="a-title")
    ),
    "update_session": lambda store, documents: store.update_session(
        ADA, "s", SessionPatch(title="a-title"), documents=documents
    ),
    "put_documents": lambda store, documents: store.put_documents(ADA, "s", documents),
}
EACH_WRITE = pytest.mark.parametrize("write", WRITES)


class LosesAnswers(DictionaryDriver):
    lost = 0

    def create(self, document: LogDocument) -> bool:
        created = super().create(document)
        if document.kind is LogKind.RECORD and self.lost:
            self.lost -= 1
            raise StoreUnavailableError("the answer was lost")
        return created


@pytest.fixture
def log() -> LosesAnswers:
    return LosesAnswers(lag=3)


@pytest.fixture
def store(log: LosesAnswers) -> DictionaryStore:
    store = DictionaryStore(ManualClock(), log)
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2")])
    return store


def put(key: str, value: bytes = b"value", **given: Any) -> DocumentPut:
    return DocumentPut(key=key, value=value, **given)


def value_of(store: DictionaryStore, key: str) -> bytes | None:
    found = store.find_document(ADA, key, session="s")
    return None if found is None else found.value


def is_stored(log: DictionaryDriver, text: bytes) -> bool:
    return any(text in it.data for it in log.documents.values())


def records(log: DictionaryDriver) -> int:
    return sum(it.kind is LogKind.RECORD for it in log.documents.values())


def newest_record(log: DictionaryDriver) -> LogDocument:
    return max((it for it in log.documents.values() if it.log), key=lambda it: it.n)


def talk(store: DictionaryStore, count: int) -> None:
    """Say so much that what comes next may be in a page, or before one, or after one."""
    for _ in range(count):
        store.append(ADA, "s", [say(None, "x")])


@EACH_WRITE
def test_a_write_is_one_record_whatever_comes_along(
    store: DictionaryStore, log: LosesAnswers, write: str
) -> None:
    before = records(log)
    WRITES[write](store, [put("a"), put("b"), DocumentDelete(key="none")])
    assert records(log) == before + 1


def test_an_append_takes_as_many_calls_with_a_document_as_without(
    store: DictionaryStore, log: LosesAnswers
) -> None:
    calls: list[list[str]] = []
    for id, documents in (("m3", []), ("m4", [put("a"), DocumentDelete(key="b")])):
        log.calls.clear()
        store.append(ADA, "s", [say(id)], documents=documents)
        calls.append(list(log.calls))
    assert calls == [["get", "create"]] * 2


def test_that_nothing_is_to_be_deleted_is_not_recorded(
    store: DictionaryStore, log: LosesAnswers
) -> None:
    before = records(log)
    assert store.put_documents(ADA, "s", [DocumentDelete(key="none")]) == {"none": 0}
    assert store.put_documents(ADA, "s", []) == {}
    assert records(log) == before


@pytest.mark.parametrize("before", range(28, 34))
@EACH_WRITE
def test_what_came_along_outlives_a_clear_whichever_record_it_came_with(
    store: DictionaryStore, log: LosesAnswers, write: str, before: int
) -> None:
    talk(store, before)
    gone = [
        put("lease", b"gone", expires_in_s=9),
        put("pins", b"gone"),
        put("own", b"gone", inherit=False),
    ]
    WRITES[write](store, [*gone, put("a"), put("b")])
    store.clear_session(ADA, "s")
    assert not is_stored(log, b"gone")
    assert not is_stored(log, b"words")
    for it in (store, DictionaryStore(ManualClock(), log)):
        assert [value_of(it, key) for key in ("a", "b")] == [b"value"] * 2
    store.finish_deletions()
    assert store.admin.check() == []
    store.put_documents(ADA, "s", [put("a", b"other"), put("b", b"other")])
    store.finish_deletions()
    assert not is_stored(log, b"value")


@EACH_WRITE
def test_what_came_along_goes_when_it_is_replaced_and_the_rest_stays(
    store: DictionaryStore, log: LosesAnswers, write: str
) -> None:
    WRITES[write](store, [put("a", b"a-value"), put("b", b"b-value")])
    before = (store.read(ADA, "s", Read()), store.find_session(ADA, "s"))
    store.put_document(ADA, "a", b"", session="s")
    store.finish_deletions()
    assert not is_stored(log, b"a-value")
    assert (value_of(store, "a"), value_of(store, "b")) == (b"", b"b-value")
    store.delete_document(ADA, "b", session="s")
    store.finish_deletions()
    assert not is_stored(log, b"b-value")
    other = DictionaryStore(ManualClock(), log)
    assert other.find_session(ADA, "s") == before[1]
    assert other.read(ADA, "s", Read()).messages_only == before[0].messages_only
    assert other.admin.check() == []


@pytest.mark.parametrize("before", [0, *range(28, 34)])
@EACH_WRITE
def test_what_came_along_goes_with_its_session_though_a_fork_stands_on_its_messages(
    store: DictionaryStore, log: LosesAnswers, write: str, before: int
) -> None:
    talk(store, before)
    WRITES[write](store, [put("a-name", b"a-value", inherit=False)])
    store.create_session(ADA, fork_of("s"))
    told = shown(store.read(ADA, "fork", Read()))
    store.delete_session(ADA, "s")
    store.finish_deletions()
    for text in (b"a-value", b"a-name", b"a-title"):
        assert not is_stored(log, text)
    for it in (store, DictionaryStore(ManualClock(), log)):
        assert shown(it.read(ADA, "fork", Read())) == told
        assert it.list_documents(ADA, session="fork") == []
    assert store.admin.check() == []


def test_what_is_cleared_of_a_record_that_a_fork_stands_on_goes(
    store: DictionaryStore, log: LosesAnswers
) -> None:
    own = put("own", b"a-value", inherit=False)
    store.append(ADA, "s", [say("m3", "words"), say("m4", "further")], documents=[own, put("a")])
    store.create_session(ADA, fork_of("s", "m3"))
    store.clear_session(ADA, "s")
    assert not is_stored(log, b"a-value")
    assert not is_stored(log, b"further")
    assert value_of(store, "a") == b"value"
    assert shown(store.read(ADA, "fork", Read())) == ["m1", "m2", "m3"]
    store.delete_session(ADA, "fork")
    assert not is_stored(log, b"words")
    assert value_of(store, "a") == b"value"
    store.append(ADA, "s", [say("m3")])
    assert store.admin.check() == []


def test_messages_that_were_not_cleared_are_found_after_what_was_is_swept(
    store: DictionaryStore, log: LosesAnswers
) -> None:
    store.clear_session(ADA, "s")
    store.append(ADA, "s", [say("m1")], documents=[put("a")])
    talk(store, 40)
    store.put_document(ADA, "a", b"", session="s")
    store.create_session(ADA, fork_of("s"))
    store.delete_session(ADA, "fork")
    assert DictionaryStore(ManualClock(), log).append(ADA, "s", [say("m1")]).written == 0
    assert store.admin.check() == []


@EACH_WRITE
def test_rule_02_a_write_whose_answer_was_lost_is_done_once(
    store: DictionaryStore, log: LosesAnswers, write: str
) -> None:
    log.lost = 1
    before = records(log)
    done = WRITES[write](store, [put("a", expected_version=0)])
    assert records(log) == before + 1
    found = store.find_document(ADA, "a", session="s")
    assert found is not None
    assert (done if isinstance(done, dict) else done.documents) == {"a": found.version}


def test_rule_02_an_append_that_was_never_answered_says_so_and_is_done_once_when_repeated(
    store: DictionaryStore, log: LosesAnswers
) -> None:
    log.lost = 2
    with pytest.raises(StoreUnavailableError, match="'m3' may have been stored: append it again"):
        store.append(ADA, "s", [say("m3")], documents=[put("a", expected_version=0)])
    done = store.append(ADA, "s", [say("m3")], documents=[put("a", expected_version=0)])
    found = store.find_document(ADA, "a", session="s")
    assert found is not None
    assert (done.written, done.documents) == (0, {"a": found.version})


def test_a_document_that_came_with_a_large_batch_is_read_without_the_batch(
    store: DictionaryStore, log: LosesAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(ADA, "s", [say(f"b{n}", "x" * 1000) for n in range(100)], documents=[put("a")])
    newest = newest_record(log)
    work = open_record(newest.data, newest.id).work
    assert isinstance(work, Append)
    assert work.bundles
    monkeypatch.setattr("sapwood.stores.recordlog.record._opened", None)
    assert value_of(store, "a") == b"value"


def test_rule_15_what_comes_along_counts_in_the_size_of_a_record(
    store: DictionaryStore, log: LosesAnswers
) -> None:
    log.max_data_bytes = 2000
    before = records(log)
    with pytest.raises(MessageTooLargeError, match="at most 2000"):
        store.append(ADA, "s", [say("m3")], documents=[put("a", os.urandom(2000))])
    assert records(log) == before
    assert value_of(store, "a") is None


def test_another_process_folds_what_came_along(store: DictionaryStore, log: LosesAnswers) -> None:
    other = DictionaryStore(ManualClock(), log)
    assert shown(other.read(ADA, "s", Read())) == ["m1", "m2"]
    patch = SessionPatch(title="t", closed=True)
    store.append(ADA, "s", [say("m3")], documents=[put("a")], patch=patch)
    newest = newest_record(log)
    assert len(decode_record(newest.data, newest.id).also) == 2
    assert value_of(other, "a") == b"value"
    assert other.find_session(ADA, "s") == store.find_session(ADA, "s")
