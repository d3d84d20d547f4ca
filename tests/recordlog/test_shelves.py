"""An owner's documents: the first are together in one log, the others on shelves."""

from __future__ import annotations

import random

import pytest
from tier import often

from recordlog._sync.dictionary import DictionaryDriver
from recordlog.stores import DictionaryStore
from sapwood.errors import StaleVersionError
from sapwood.model import NewSession
from sapwood.stores.memory import MemoryStore
from sapwood.stores.recordlog import shelves
from sapwood.stores.recordlog._sync.sessions import LogSessions
from sapwood.stores.recordlog.log_documents import LogDocument, LogKind
from sapwood.stores.recordlog.shelves import MOST_TOGETHER, together_log
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA

MANY = 600
TOGETHER = together_log(ADA)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def log() -> DictionaryDriver:
    return DictionaryDriver()


@pytest.fixture
def store(log: DictionaryDriver, clock: ManualClock) -> DictionaryStore:
    return DictionaryStore(clock, log)


@pytest.fixture
def other(log: DictionaryDriver, clock: ManualClock) -> DictionaryStore:
    """Another process on the same database."""
    return DictionaryStore(clock, log)


def fill(store: DictionaryStore | MemoryStore, count: int, prefix: str = "k/") -> None:
    for n in range(count):
        store.put_document(ADA, f"{prefix}{n:04}", b"%d" % n)


def keys(store: DictionaryStore | MemoryStore, prefix: str = "") -> list[str]:
    return [it.key for it in store.list_documents(ADA, prefix)]


def records(log: DictionaryDriver, *, on_shelves: bool) -> list[LogDocument]:
    found = [it for it in log.documents.values() if it.kind is LogKind.RECORD]
    mine = [it for it in found if it.log.startswith(TOGETHER)]
    return [it for it in mine if (it.log != TOGETHER) == on_shelves]


def test_the_first_documents_are_listed_from_one_log(
    store: DictionaryStore, log: DictionaryDriver
) -> None:
    fill(store, MOST_TOGETHER)
    assert records(log, on_shelves=True) == []
    log.calls.clear()
    assert len(store.list_documents(ADA, values=False)) == MOST_TOGETHER
    assert log.calls == ["get"]


def test_a_put_writes_little_however_many_documents_there_are(
    store: DictionaryStore, log: DictionaryDriver
) -> None:
    fill(store, MANY)
    assert keys(store) == [f"k/{n:04}" for n in range(MANY)]
    assert max(len(it.data) for it in records(log, on_shelves=True)) < 2_500
    before = len(records(log, on_shelves=False))
    log.calls.clear()
    for n in range(MOST_TOGETHER, MOST_TOGETHER + 20):
        store.put_document(ADA, f"k/{n:04}", b"again")
    assert log.calls.count("create") == 20
    assert len(records(log, on_shelves=False)) == before
    log.calls.clear()
    assert store.find_document(ADA, f"k/{MANY - 1:04}") is not None
    assert log.calls == ["get", "get"]


def test_versions_rise_when_a_document_goes_to_a_shelf(store: DictionaryStore) -> None:
    first = store.put_document(ADA, "moved", b"1")
    for n in range(50):
        first = store.put_document(ADA, "moved", b"%d" % n)
    fill(store, MANY // 2)
    assert store.delete_document(ADA, "moved", expected_version=first.version)
    again = store.put_document(ADA, "moved", b"2", expected_version=0)
    assert again.version > first.version
    store.erase_owner(ADA)
    assert store.put_document(ADA, "moved", b"3").version > again.version


def test_a_process_that_does_not_know_of_shelves_yet_finds_and_changes_what_is_on_them(
    store: DictionaryStore, other: DictionaryStore
) -> None:
    fill(store, MOST_TOGETHER // 2)
    assert len(keys(other)) == MOST_TOGETHER // 2
    fill(store, MOST_TOGETHER, prefix="a/")
    put = other.put_document(ADA, "new", b"1", expected_version=0)
    with pytest.raises(StaleVersionError):
        store.put_document(ADA, "new", b"2", expected_version=0)
    assert store.find_document(ADA, "new") == put
    last = f"a/{MOST_TOGETHER - 1:04}"
    assert other.find_document(ADA, last) == store.find_document(ADA, last)
    assert other.delete_document(ADA, last) is True
    assert store.find_document(ADA, last) is None
    # A key that was among the first and is so no more.
    assert other.delete_document(ADA, "k/0000") is True
    moved = other.put_document(ADA, "k/0000", b"moved")
    again = store.put_document(ADA, "k/0000", b"again", expected_version=moved.version)
    assert other.find_document(ADA, "k/0000") == again
    assert keys(store) == keys(other)


def test_what_is_on_shelves_is_counted_listed_checked_and_deleted_by_prefix(
    store: DictionaryStore, log: DictionaryDriver
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    fill(store, MOST_TOGETHER)
    fill(store, 40, prefix="z/")
    assert store.statistics(ADA).documents == MOST_TOGETHER + 40
    assert store.delete_documents(ADA, "k/") == MOST_TOGETHER
    store.delete_session(ADA, "s")
    assert store.admin.list_owners() == [ADA]
    assert (store.statistics(ADA).documents, store.admin.check()) == (40, [])
    lost = next(it for it in records(log, on_shelves=True) if b"z/0007" in it.data)
    key = next(key for key, it in log.documents.items() if it is lost)
    del log.documents[key]
    [problem] = store.admin.check()
    assert ("z/0007" in problem.what, ADA in problem.where) == (True, True)
    log.documents[key] = lost
    assert store.delete_documents(ADA, "") == 40
    assert store.admin.list_owners() == []


def test_an_erased_owner_leaves_nothing_on_shelves(
    store: DictionaryStore, log: DictionaryDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, MOST_TOGETHER)
    for n in range(30):
        store.put_document(ADA, f"z/{n}", b"a secret")
    go_on, wiped = LogSessions._wipe, list[str]()

    def stop(sessions: LogSessions, name: str) -> None:
        if len(wiped) == 2:
            raise KeyboardInterrupt
        wiped.append(name)
        go_on(sessions, name)

    monkeypatch.setattr(LogSessions, "_wipe", stop)
    with pytest.raises(KeyboardInterrupt):
        store.erase_owner(ADA)
    monkeypatch.undo()
    assert any(b"a secret" in it.data for it in log.documents.values())
    store.erase_owner(ADA)
    store.finish_deletions()
    assert not any(b"a secret" in it.data for it in log.documents.values())
    assert (keys(store), store.admin.list_owners()) == ([], [])
    put = store.put_document(ADA, "z/1", b"new")
    assert (store.list_documents(ADA), store.admin.list_owners()) == ([put], [ADA])


def test_a_replaced_value_on_a_shelf_is_gone_once_deletions_are_finished(
    store: DictionaryStore, log: DictionaryDriver
) -> None:
    fill(store, MOST_TOGETHER)
    store.put_document(ADA, "z", b"a secret")
    store.put_document(ADA, "z", b"new")
    store.finish_deletions()
    assert not any(b"a secret" in it.data for it in log.documents.values())
    found = store.find_document(ADA, "z")
    assert found is not None
    assert found.value == b"new"


def test_documents_of_before_there_were_shelves_stay_where_they_are(
    store: DictionaryStore,
    other: DictionaryStore,
    log: DictionaryDriver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shelves, "MOST_TOGETHER", MANY)
    fill(store, 2 * MOST_TOGETHER)
    monkeypatch.undo()
    before = other.find_document(ADA, "k/0100")
    assert before is not None
    again = other.put_document(ADA, "k/0100", b"x", expected_version=before.version)
    assert again.version > before.version
    assert records(log, on_shelves=True) == []
    other.put_document(ADA, "new", b"")
    assert len(records(log, on_shelves=True)) == 1
    assert keys(other) == [*(f"k/{n:04}" for n in range(2 * MOST_TOGETHER)), "new"]


def test_a_memory_store_that_went_back_gives_no_version_out_again(clock: ManualClock) -> None:
    with MemoryStore(clock=clock, new_id=iter(map(str, range(10**6))).__next__) as store:
        fill(store, MOST_TOGETHER // 2)
        snapshot = store.snapshot()
        fill(store, MANY // 2)
        given = {it.key: it.version for it in store.list_documents(ADA)}
        store.restore(snapshot)
        assert len(keys(store)) == MOST_TOGETHER // 2
        fill(store, MANY // 2)
        assert all(it.version != given[it.key] for it in store.list_documents(ADA))
        assert store.admin.check() == []


@pytest.mark.parametrize("seed", range(often(4, 60)))
def test_any_changes_by_two_processes_leave_what_a_dictionary_has(
    store: DictionaryStore, other: DictionaryStore, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves, "MOST_TOGETHER", 3)
    monkeypatch.setattr(shelves, "SHELVES", 4)
    dice, kept, last = random.Random(seed), dict[str, bytes](), dict[str, int]()
    for step in range(150):
        process, key = dice.choice((store, other)), f"{dice.choice('ab')}/{dice.randrange(8)}"
        match dice.choice(("put", "put", "put", "delete", "find", "list", "prefix", "erase")):
            case "put":
                put = process.put_document(ADA, key, b"%d" % step)
                assert put.version > last.get(key, 0)
                kept[key], last[key] = put.value, put.version
            case "delete":
                assert process.delete_document(ADA, key) is (kept.pop(key, None) is not None)
            case "find":
                found = process.find_document(ADA, key)
                assert (found and found.value) == kept.get(key)
            case "list":
                listed = {it.key: it.value for it in process.list_documents(ADA)}
                assert list(listed.items()) == sorted(kept.items())
            case "prefix":
                gone = [it for it in kept if it.startswith(key[:2])]
                assert process.delete_documents(ADA, key[:2]) == len(gone)
                kept = {it: value for it, value in kept.items() if it not in gone}
            case "erase" if dice.random() < 0.2:
                process.erase_owner(ADA)
                kept = {}
    assert store.admin.check() == []
