"""What only the log itself can show: interrupted forks, lost answers, and questions that lag."""

from __future__ import annotations

import pytest

from recordlog._sync.dictionary import DictionaryLog
from recordlog.stores import DictionaryStore
from sapwood.errors import NotFoundError, StoreUnavailableError
from sapwood.model import NewSession, Read
from sapwood.stores.recordlog.stored import Kind, Stored
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, say, shown


class Hooked(DictionaryLog):
    """Calls something before an entry is created, or loses the answer to a record's creation."""

    def __init__(self) -> None:
        super().__init__(lag=1000)
        self.before_entry = lambda: None
        self.lost = 0

    def create(self, document: Stored) -> bool:
        if document.kind is Kind.ENTRY and document.data:
            call, self.before_entry = self.before_entry, lambda: None
            call()
        created = super().create(document)
        if document.kind is Kind.RECORD and self.lost:
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
    store.settle()
    assert shown(store.read(ADA, "fork", Read())) == ["m1", "m2"]


def test_rule_02_a_record_whose_answer_was_lost_is_known_as_ones_own(
    store: DictionaryStore, log: Hooked
) -> None:
    log.lost = 1
    assert store.append(ADA, "s", [say(None, "x")]).written == 1
    log.lost = 1
    put = store.put_document(ADA, "k", b"v", session="s", expected_version=0)
    assert store.find_document(ADA, "k", session="s") == put
    assert len(store.read(ADA, "s", Read()).messages) == 3


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
    other.settle()
    with pytest.raises(NotFoundError):
        store.append(ADA, "s", [say("m3")])
