"""What only the log itself can show: interrupted forks, lost answers, and questions that lag."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from recordlog._sync.dictionary import DictionaryDriver
from recordlog.stores import DictionaryStore
from sapwood.errors import (
    MessageTooLargeError,
    NotFoundError,
    StoreCorruptError,
    StoreUnavailableError,
)
from sapwood.model import NewSession, Read, Search, SessionPatch, SessionQuery
from sapwood.stores.recordlog import record
from sapwood.stores.recordlog._sync.feed import FEED
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey, LogKind, key_of, owner_log
from sapwood.stores.recordlog.record import decode_record, encode_record, open_record
from sapwood.stores.recordlog.shelves import DOCUMENTS
from sapwood.stores.recordlog.work import Append
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, ids_told, say, shown

FEED_LOG, DOCUMENTS_LOG = owner_log(ADA, FEED), owner_log(ADA, DOCUMENTS)


class Hooked(DictionaryDriver):
    """Calls something before an entry is created, loses answers, and notes what was read."""

    def __init__(self) -> None:
        super().__init__(lag=1000)
        self.before_entry = lambda: None
        self.lost = 0
        self.read: list[str] = []

    def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        found = super().get(keys)
        self.read += [it.id for it in found if it is not None]
        return found

    def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[LogDocument]:
        found = super().spans(tree, ranges)
        self.read += [it.id for it in found]
        return found

    def create(self, document: LogDocument) -> bool:
        if document.kind is LogKind.ENTRY and document.data:
            call, self.before_entry = self.before_entry, lambda: None
            call()
        created = super().create(document)
        if document.kind is LogKind.RECORD and self.lost:
            self.lost -= 1
            raise StoreUnavailableError("the answer was lost")
        return created


@pytest.fixture
def log() -> Hooked:
    return Hooked()


@pytest.fixture
def store(log: Hooked) -> DictionaryStore:
    store = DictionaryStore(ManualClock(), log)
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2")])
    return store


def test_a_fork_that_is_not_born_when_its_source_goes_is_refused(
    store: DictionaryStore, log: Hooked
) -> None:
    log.before_entry = lambda: store.delete_session(ADA, "s")
    with pytest.raises(NotFoundError):
        store.create_session(ADA, fork_of("s"))
    assert store.find_session(ADA, "fork") is None
    store.create_session(ADA, NewSession(id="fork"))
    assert store.admin.check() == []


def test_a_fork_that_was_interrupted_can_be_made_again(store: DictionaryStore, log: Hooked) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    log.before_entry = die
    with pytest.raises(KeyboardInterrupt):
        store.create_session(ADA, fork_of("s"))
    assert store.find_session(ADA, "fork") is None
    store.create_session(ADA, fork_of("s"))
    store.delete_session(ADA, "s")
    store.finish_deletions()
    assert shown(store.read(ADA, "fork", Read())) == ["m1", "m2"]


def test_rule_02_a_record_whose_answer_was_lost_is_known_as_ones_own(
    store: DictionaryStore, log: Hooked
) -> None:
    log.lost = 1
    assert store.append(ADA, "s", [say(None, "x")]).written == 1
    log.lost = 1
    put = store.put_document(ADA, "k", b"v", session="s", expected_version=0)
    assert store.find_document(ADA, "k", session="s") == put
    assert len(store.read(ADA, "s", Read()).messages_only) == 3


def test_what_was_just_written_is_read_without_a_refresh(
    store: DictionaryStore, log: Hooked
) -> None:
    store.append(ADA, "s", [say("m3")])
    assert shown(store.read(ADA, "s", Read())) == ["m1", "m2", "m3"]
    assert shown(store.read(ADA, "s", Read(limit=2, backwards=True))) == ["m2", "m3"]
    assert log.refreshes == 0


def test_rule_02_an_append_through_an_old_state_reads_on(
    store: DictionaryStore, log: Hooked
) -> None:
    other = DictionaryStore(ManualClock(), log)
    other.append(ADA, "s", [say("m3")])
    assert store.append(ADA, "s", [say("m3")]).written == 0
    other.append(ADA, "s", [say("m4")])
    assert store.append(ADA, "s", [say("m5")]).messages[0].depth == 5


def test_a_process_that_still_knows_a_deleted_session_is_refused_for_ever(
    store: DictionaryStore, log: Hooked
) -> None:
    other = DictionaryStore(ManualClock(), log)
    other.delete_session(ADA, "s")
    other.finish_deletions()
    with pytest.raises(NotFoundError):
        store.append(ADA, "s", [say("m3")])


def test_rule_04_the_end_of_a_history_is_read_from_the_records_that_have_it(
    store: DictionaryStore, log: Hooked
) -> None:
    for batch in range(10):
        store.append(ADA, "s", [say(f"b{batch}-{n}") for n in range(50)])
    log.refresh()
    log.read.clear()
    page = store.read(ADA, "s", Read(limit=20, backwards=True))
    assert shown(page) == [f"b9-{n}" for n in range(30, 50)]
    assert len(log.read) == 1
    log.read.clear()
    page = store.read(ADA, "s", Read(limit=20))
    assert shown(page) == ["m1", "m2", *(f"b0-{n}" for n in range(18))]
    assert len(log.read) == 2


def test_a_record_of_which_several_messages_are_wanted_is_got_once(
    store: DictionaryStore, log: Hooked
) -> None:
    ids = [f"x{n}" for n in range(30)]
    store.append(ADA, "s", [say(id) for id in ids])
    log.read.clear()
    assert [it and it.id for it in store.find_messages(ADA, "s", ids)] == ids
    assert len(log.read) == 1


def test_rule_04_the_end_that_a_process_saw_written_is_read_with_one_look(
    store: DictionaryStore, log: Hooked
) -> None:
    for n in range(40):
        store.append(ADA, "s", [say(f"x{n}"), say(f"y{n}")])
    log.calls.clear()
    assert shown(store.read(ADA, "s", Read(limit=3, backwards=True))) == ["y38", "x39", "y39"]
    assert log.calls == ["get"]
    other = DictionaryStore(ManualClock(), log)
    other.append(ADA, "s", [say("z")])
    assert shown(store.read(ADA, "s", Read(limit=2, backwards=True))) == ["y39", "z"]
    store.append(ADA, "s", [say("branch")], parent="x39")
    log.calls.clear()
    page = store.read(ADA, "s", Read(limit=3, backwards=True))
    assert shown(page) == ["y38", "x39", "branch"]
    assert page.more


def test_rule_04_the_last_fifty_that_were_said_one_by_one_are_read_with_one_look(
    store: DictionaryStore, log: Hooked
) -> None:
    ids = [f"x{n}" for n in range(70)]
    for id in ids:
        store.append(ADA, "s", [say(id)])
    log.calls.clear()
    assert shown(store.read(ADA, "s", Read(limit=50, backwards=True))) == ids[-50:]
    assert log.calls == ["get"]


def test_the_end_is_read_as_it_was_edited_and_erased_by_others(
    store: DictionaryStore, log: Hooked
) -> None:
    other = DictionaryStore(ManualClock(), log)
    store.append(ADA, "s", [say("m3"), say("m4"), say("m5")])
    other.update_message(ADA, "s", say("m3", "other words"))
    other.delete_messages(ADA, "s", ["m4"])
    read = store.read(ADA, "s", Read(limit=3, backwards=True))
    assert [it.text for it in read.messages_only] == ["m2", "other words", "m5"]
    store.clear_session(ADA, "s")
    assert shown(store.read(ADA, "s", Read(limit=3, backwards=True))) == []


BATCH = 300


def large(erased: int | None = None) -> list[str]:
    return ["word " * 40 + str(n) for n in range(BATCH) if n != erased]


def test_a_large_batch_is_stored_in_less_and_a_few_of_it_are_read(
    store: DictionaryStore, log: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [say(f"x{n}", text) for n, text in enumerate(large())]
    store.append(ADA, "s", batch)
    stored = max(log.documents.values(), key=lambda it: len(it.data))
    assert len(stored.data) < sum(map(len, large())) / 2
    assert [it.text for it in store.read(ADA, "s", Read()).messages_only[2:]] == large()
    assert store.append(ADA, "s", batch).written == 0
    whole = store.read(ADA, "s", Read(leaf="x200"))
    assert whole.context_tokens == sum(it.tokens for it in whole.messages_only) > 0
    opened: list[int] = []
    opening = record._opened
    monkeypatch.setattr(
        record, "_opened", lambda it, where: opened.append(it.count) or opening(it, where)
    )
    page = store.read(ADA, "s", Read(limit=10, backwards=True))
    assert [it.text for it in page.messages_only] == large()[-10:]
    assert sum(opened) <= record.IN_A_BUNDLE
    other = DictionaryStore(ManualClock(), log)
    assert shown(other.read(ADA, "s", Read(before=5, after=2))) == ["x0", "x1"]
    assert other.find_session(ADA, "s") == store.find_session(ADA, "s")
    assert store.admin.check() == []


def test_what_is_erased_of_a_large_batch_is_in_no_record(
    store: DictionaryStore, log: Hooked
) -> None:
    store.append(ADA, "s", [say(f"x{n}", text) for n, text in enumerate(large())])
    store.delete_messages(ADA, "s", ["x77"])
    store.finish_deletions()
    records = [it for it in log.documents.values() if it.kind is LogKind.RECORD and it.data]
    works = [decode_record(it.data, it.id).work for it in records]
    said = [it for work in works if isinstance(work, Append) for it in work.messages]
    assert [it.id for it in said if it.body is None] == ["x77"]
    assert [it.text for it in store.read(ADA, "s", Read()).messages_only[2:]] == large(77)


def test_rule_08_a_bundle_that_cannot_be_opened_is_told(
    store: DictionaryStore, log: Hooked
) -> None:
    store.append(ADA, "s", [say(f"x{n}", text) for n, text in enumerate(large())])
    key, stored = max(log.documents.items(), key=lambda it: len(it[1].data))
    record = open_record(stored.data, "")
    assert isinstance(record.work, Append)
    first, *others = record.work.bundles
    for wrong in (replace(first, data=b"x"), replace(first, count=first.count - 1)):
        work = replace(record.work, bundles=[wrong, *others])
        broken = replace(stored, data=encode_record(replace(record, work=work)))
        log.documents[key] = broken
        log.refresh()
        with pytest.raises(StoreCorruptError, match=stored.id):
            store.read(ADA, "s", Read())


@pytest.mark.parametrize("text", ["x" * 1_000, os.urandom(500).hex()])
def test_rule_15_a_batch_is_refused_by_its_size_and_not_by_how_well_it_is_stored(
    store: DictionaryStore, log: Hooked, text: str
) -> None:
    log.max_data_bytes = 60_000
    with pytest.raises(MessageTooLargeError):
        store.append(ADA, "s", [say(f"x{n}", text) for n in range(100)])
    assert store.append(ADA, "s", [say(f"x{n}", text) for n in range(40)]).written == 40


def test_a_search_reads_what_forks_share_once(store: DictionaryStore, log: Hooked) -> None:
    for number in range(5):
        store.create_session(ADA, fork_of("s", "m2", id=f"f{number}"))
    log.refresh()
    log.read.clear()
    assert len(store.search(ADA, Search(text="m1")).hits) == 1
    appended = [it for it in log.read if it.endswith("/000000000001")]
    assert len(appended) == 1


def test_changes_of_many_sessions_are_read_with_a_few_looks(
    store: DictionaryStore, log: Hooked
) -> None:
    for n in range(30):
        store.create_session(ADA, NewSession(id=f"c{n}"))
    cursor = store.changes(ADA).cursor
    for k in range(3):
        for n in range(30):
            store.append(ADA, f"c{n}", [say(f"m{k}-{n}")])
    log.calls.clear()
    page = store.changes(ADA, after=cursor)
    assert ids_told(page) == [f"m{k}-{n}" for k in range(3) for n in range(30)]
    # How far logs and the feed are, when records were written, that it is noted, what they say.
    assert log.calls == ["get", "get", "create", "get"]
    log.calls.clear()
    assert store.changes(ADA, after=page.cursor).changes == []
    assert log.calls == ["get"]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_rule_08_a_record_that_a_session_lost_is_told_by_the_feed(
    store: DictionaryStore, log: Hooked, n: int
) -> None:
    for name in ("f1", "f2", "f3", "f4"):
        store.append(ADA, "s", [say(name)])
    owners = {FEED_LOG, DOCUMENTS_LOG}
    records = [it for it in log.documents.values() if it.kind is LogKind.RECORD]
    [lost] = [key_of(it) for it in records if it.log not in owners and it.n == n]
    del log.documents[lost]
    with pytest.raises(StoreCorruptError):
        store.changes(ADA)


def test_rule_08_an_owners_log_that_lost_its_beginning_is_not_begun_anew(
    store: DictionaryStore, log: Hooked
) -> None:
    for key in ("a", "b", "c"):
        store.put_document(ADA, key, b"1")
    [lost] = [key for key, it in log.documents.items() if (it.log, it.n) == (DOCUMENTS_LOG, 1)]
    del log.documents[lost]
    store = DictionaryStore(ManualClock(), log)
    with pytest.raises(StoreCorruptError):
        store.list_documents(ADA)
    with pytest.raises(StoreCorruptError):
        store.put_document(ADA, "d", b"1")


@pytest.mark.parametrize("nth", [1, 3, 5])
def test_rule_08_a_record_that_the_feed_lost_is_told(
    store: DictionaryStore, log: Hooked, nth: int
) -> None:
    for n in range(5):
        store.append(ADA, "s", [say(f"f{n}")])
        store.changes(ADA)
    records = sorted(it.n for it in log.documents.values() if it.log == FEED_LOG and it.n)
    lost = next(key for key, it in log.documents.items() if (it.log, it.n) == (FEED_LOG, nth))
    assert records == [*range(1, len(records) + 1)]
    del log.documents[lost]
    with pytest.raises(StoreCorruptError):
        store.changes(ADA)


def test_a_feed_is_read_on_from_within_a_record_of_it(store: DictionaryStore) -> None:
    for n in range(5):
        store.create_session(ADA, NewSession(id=f"c{n}"))
    for k in range(3):
        for n in range(5):
            store.append(ADA, f"c{n}", [say(f"m{k}-{n}"), say(f"n{k}-{n}")])
    told: list[str | None] = []
    cursor, more = "", True
    while more:
        page = store.changes(ADA, after=cursor, limit=3)
        told += ids_told(page)
        cursor, more = page.cursor, page.more
    assert told == ["m1", "m2", *(f"{w}{k}-{n}" for k in range(3) for n in range(5) for w in "mn")]


def test_rule_02_anothers_record_is_not_taken_for_ones_own_after_a_lost_answer(
    store: DictionaryStore, log: Hooked
) -> None:
    other = DictionaryStore(ManualClock(), log)
    other.append(ADA, "s", [say("m3")])
    # The number is taken, and the answer that says so is lost.
    log.lost = 1
    done = store.append(ADA, "s", [say(None, "m4")])
    assert done.messages[0].depth == 4
    assert [it.text for it in other.read(ADA, "s", Read()).messages_only] == [
        "m1",
        "m2",
        "m3",
        "m4",
    ]


def test_nothing_is_refused_by_what_a_process_remembers_of_a_session(
    store: DictionaryStore, log: Hooked
) -> None:
    other = DictionaryStore(ManualClock(), log)
    other.append(ADA, "s", [say("m3")])
    assert store.append(ADA, "s", [say("m4")], expected_tip="m3").messages[0].depth == 4
    other.append(ADA, "s", [say("m5")])
    assert store.append(ADA, "s", [say("m6")], parent="m5").messages[0].depth == 6
    changed = other.update_session(ADA, "s", SessionPatch(title="new")).record
    store.update_session(ADA, "s", SessionPatch(title="newer"), expected_version=changed.version)


def test_that_nothing_is_to_be_done_is_not_told_by_what_a_process_remembers(
    store: DictionaryStore, log: Hooked
) -> None:
    other = DictionaryStore(ManualClock(), log)
    other.put_document(ADA, "k", b"v", session="s")
    assert store.delete_document(ADA, "k", session="s")
    assert other.find_document(ADA, "k", session="s") is None
    # What a fork stands on is left; the session that the process remembers is gone.
    other.create_session(ADA, fork_of("s"))
    other.delete_session(ADA, "s")
    with pytest.raises(NotFoundError):
        store.append(ADA, "s", [say("m1")])


def test_a_process_that_is_far_behind_reads_on_to_the_end(
    store: DictionaryStore, log: Hooked
) -> None:
    other = DictionaryStore(ManualClock(), log)
    for n in range(20):
        other.append(ADA, "s", [say(f"x{n}")])
    assert shown(store.read(ADA, "s", Read())) == ["m1", "m2", *(f"x{n}" for n in range(20))]
    for n in range(20):
        other.append(ADA, "s", [say(f"y{n}")])
    record = store.find_session(ADA, "s")
    assert record is not None
    assert (record.messages, record.tip) == (42, "y19")


def test_rule_02_an_id_is_known_after_the_state_was_written_down(
    store: DictionaryStore, log: Hooked
) -> None:
    for _ in range(50):
        store.append(ADA, "s", [say(None, "x")])
    assert store.append(ADA, "s", [say("m1"), say("m2")]).written == 0
    other = DictionaryStore(ManualClock(), log)
    assert other.append(ADA, "s", [say("m2")]).written == 0
    assert [it and it.id for it in other.find_messages(ADA, "s", ["m2", "m9"])] == ["m2", None]


@pytest.mark.parametrize("end", ["delete_session", "clear_session"])
def test_what_is_retired_leaves_no_look_ups(store: DictionaryStore, log: Hooked, end: str) -> None:
    for n in range(50):
        store.append(ADA, "s", [say(f"x{n}")])
    assert [it for it in log.documents.values() if it.kind is LogKind.LOOKUP]
    getattr(store, end)(ADA, "s")
    store.finish_deletions()
    assert [it for it in log.documents.values() if it.kind is LogKind.LOOKUP] == []


def test_what_stands_on_a_session_is_found_with_a_few_looks(
    store: DictionaryStore, log: Hooked
) -> None:
    looks: list[int] = []
    for length in (4, 24):
        for n in range(length):
            source = f"{length}-{n - 1}" if n else "s"
            store.create_session(ADA, fork_of(source, id=f"{length}-{n}"))
            store.append(ADA, f"{length}-{n}", [say(f"{length}-{n}")])
        log.calls.clear()
        store.delete_session(ADA, f"{length}-0")
        looks.append(len(log.calls))
        log.calls.clear()
        assert len(store.list_sessions(ADA, SessionQuery(limit=100)).sessions) >= length
        looks.append(len(log.calls))
    assert looks[:2] == looks[2:]
    assert max(looks) <= 12
