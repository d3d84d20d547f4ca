"""Two processes on one log, each with a state of its own: what one does between two looks of the
other, and what is left when one of them stops halfway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from recordlog._sync.dictionary import DictionaryLog
from recordlog.stores import DictionaryStore
from sapwood.errors import (
    ConflictError,
    NotFoundError,
    StoreCorruptError,
    StoreUnavailableError,
)
from sapwood.model import (
    ROOT,
    EntryRef,
    ForkPoint,
    NewOverlay,
    NewSession,
    Read,
    Search,
    SessionPatch,
    SessionQuery,
    Usage,
)
from sapwood.stores.recordlog import cache
from sapwood.stores.recordlog.stored import Key, Kind, Stored
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, say, shown

Hook = Callable[[], object]


class Paused(DictionaryLog):
    """What one process sees of a dictionary; before a named call, something may happen."""

    def __init__(self, documents: dict[Key, Stored] | None = None, *, lag: int = 0) -> None:
        super().__init__(documents, lag=lag)
        self.hooks: list[tuple[str, Callable[[Any], bool], Hook]] = []

    def before(self, call: str, hook: Hook, when: Callable[[Any], bool] = lambda _: True) -> None:
        """Do something before the next such call, once."""
        self.hooks.append((call, when, hook))

    def _reach(self, call: str, given: Any) -> None:
        for it in self.hooks:
            if it[0] == call and it[1](given):
                self.hooks.remove(it)
                it[2]()
                return

    def create(self, document: Stored) -> bool:
        self._reach("create", document)
        return super().create(document)

    def get(self, keys: Sequence[Key]) -> list[Stored | None]:
        self._reach("get", keys)
        return super().get(keys)

    def following(self, tree: str, log: str, after: int) -> list[Stored]:
        self._reach("following", log)
        return super().following(tree, log, after)

    def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[Stored]:
        self._reach("spans", ranges)
        return super().spans(tree, ranges)

    def entries(self, owner: str | None) -> list[Stored]:
        self._reach("entries", owner)
        return super().entries(owner)

    def put(self, documents: Sequence[Stored]) -> None:
        self._reach("put", documents)
        super().put(documents)

    def blank(self, keys: Sequence[Key]) -> None:
        self._reach("blank", keys)
        super().blank(keys)

    def create_all(self, documents: Sequence[Stored]) -> None:
        self._reach("create_all", documents)
        super().create_all(documents)


class PausedStore(DictionaryStore):
    """A process of its own."""

    log: Paused


def is_entry(document: Stored) -> bool:
    return document.kind is Kind.ENTRY


def fail() -> None:
    raise StoreUnavailableError("the server is gone")


@pytest.fixture
def documents() -> dict[Key, Stored]:
    return {}


@pytest.fixture
def log(documents: dict[Key, Stored]) -> Paused:
    return Paused(documents)


class Shared(Paused):
    """Shows at once what others wrote."""

    def _records(self, tree: str) -> list[Stored]:
        self._show()
        return super()._records(tree)


@pytest.fixture
def store(documents: dict[Key, Stored]) -> PausedStore:
    store = PausedStore(ManualClock(), Shared(documents))
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2")])
    return store


@pytest.fixture
def other(documents: dict[Key, Stored], store: PausedStore) -> PausedStore:
    return PausedStore(ManualClock(), Shared(documents))


def texts(documents: dict[Key, Stored]) -> bytes:
    return b"".join(it.data for it in documents.values())


# what is cleared


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


# forks


def test_a_fork_whose_name_another_took_is_in_nobodys_way(
    store: PausedStore, other: PausedStore
) -> None:
    store.log.before("create", lambda: other.create_session(ADA, NewSession(id="fork")), is_entry)
    with pytest.raises(ConflictError):
        store.create_session(ADA, fork_of("s"))
    store.delete_messages(ADA, "s", ["m1"])
    PausedStore(ManualClock(), store.log).delete_messages(ADA, "s", ["m2"])
    store.delete_session(ADA, "s")
    store.settle()
    other.settle()


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
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored]
) -> None:
    third = PausedStore(ManualClock(), Shared(documents))
    store.create_session(ADA, fork_of("s", id="f1"))
    third.read(ADA, "f1", Read())

    def delete_both() -> None:
        other.log.before("blank", lambda: None)
        # It is deleted, and what that leaves is not done yet.
        third.log.before("get", fail, lambda keys: keys and keys[0].kind is Kind.ENTRY)
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
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored], what: str
) -> None:
    store.append(ADA, "s", [say(f"x{n}", "secret") for n in range(300)])
    new = NewSession(id="d", fork=ForkPoint(session="s", message=None, detach=True))
    edit: Hook = lambda: other.update_message(ADA, "s", say("x290", "words"))  # noqa: E731
    hook = edit if what == "edited" else fail
    store.log.before("spans", lambda: store.log.before("spans", hook))
    if what == "edited":
        store.create_session(ADA, new)
        assert store.read(ADA, "d", Read()).messages[-10].text == "words"
    else:
        with pytest.raises(StoreUnavailableError):
            store.create_session(ADA, new)
    store.erase_owner(ADA)
    store.settle()
    left = [it for it in documents.values() if it.segment and it.data]
    assert left == []


def test_a_fork_of_a_session_that_goes_leaves_no_copies_of_its_documents(
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.put_document(ADA, "k", b"secret", session="s")
    store.log.before("create", lambda: other.delete_session(ADA, "s"))
    with pytest.raises(NotFoundError):
        store.create_session(ADA, fork_of("s"))
    store.settle()
    assert b"secret" not in texts(documents)


def test_a_fork_leaves_no_copies_of_what_its_source_replaced_meanwhile(
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.put_document(ADA, "k", b"secret", session="s")
    put: Hook = lambda: other.put_document(ADA, "k", b"words", session="s")  # noqa: E731
    store.log.before("create", put)
    store.create_session(ADA, fork_of("s"))
    found = store.find_document(ADA, "k", session="fork")
    assert found is not None
    assert found.value == b"words"
    store.settle()
    assert b"secret" not in texts(documents)


# reading while another clears or deletes


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
        records = lambda keys: keys[0].kind is Kind.RECORD and keys[0].id.endswith("001")  # noqa: E731
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
    assert store.update_session(ADA, "s", SessionPatch(title="t")).title == "t"
    store.log.before("get", edit, one)
    [listed] = store.list_sessions(ADA, SessionQuery()).sessions
    assert listed == other.find_session(ADA, "s")
    store.log.before("spans", edit)
    assert store.admin.check() == []


# sweeping


def test_what_was_emptied_is_not_put_back_by_one_who_read_it_before(
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.append(ADA, "s", [say("m3"), say("m4", "secret")])
    store.log.before("put", lambda: other.delete_session(ADA, "s"))
    store.update_message(ADA, "s", say("m3", "other words"))
    store.settle()
    assert b"secret" not in texts(documents)


def test_an_entry_that_was_emptied_is_not_put_back(
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.create_session(ADA, NewSession(id="a-name"))
    store.log.before("put", lambda: other.erase_owner(ADA))
    store.delete_session(ADA, "a-name")
    assert b"a-name" not in texts(documents)


def test_a_sweep_that_failed_above_is_finished_by_settling(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.append(ADA, "s", [say("m3", "secret")])
    store.create_session(ADA, fork_of("s"))
    store.append(ADA, "fork", [say("f1")])
    store.delete_session(ADA, "s")
    home = next(it.log for it in documents.values() if it.kind is Kind.RECORD and it.n == 1)
    store.log.before("blank", fail, lambda keys: home in keys[0].id.split("/")[1])
    store.delete_session(ADA, "fork")
    store.settle()
    assert b"secret" not in texts(documents)


@pytest.mark.parametrize("end", ["delete_session", "clear_session"])
def test_a_sweep_does_not_count_for_what_was_retired_after_it(
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored], end: str
) -> None:
    def say_and_go() -> None:
        other.append(ADA, "s", [say("m3", "secret")])
        other.log.before("blank", fail)
        getattr(other, end)(ADA, "s")

    store.log.before("blank", say_and_go)
    store.clear_session(ADA, "s")
    store.settle()
    assert b"secret" not in texts(documents)


# owners


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
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    late = PausedStore(ManualClock(), Paused(documents, lag=1000))
    for n in range(3):
        store.put_document(ADA, "k", b"%d" % n)
    store.erase_owner(ADA)
    assert late.find_document(ADA, "k") is None


# names


def test_a_session_made_again_is_found_by_one_who_knew_the_first_as_a_home(
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored]
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
    remembered = store._runner.desk.cache  # type: ignore[attr-defined]
    for n in range(20):
        store.create_session(ADA, NewSession(id=f"x{n}"))
        store.delete_session(ADA, f"x{n}")
    assert isinstance(remembered, cache.Cache)
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


# overlays


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


# the feed


def test_a_feed_that_is_trimmed_while_it_is_read_passes_nothing_by(
    store: PausedStore, other: PausedStore
) -> None:
    cursor = store.changes(ADA, limit=1).cursor
    seen = other.changes(ADA).cursor
    other.append(ADA, "s", [say("m3")])
    other.changes(ADA, after=other.changes(ADA, after=seen, reader="r").cursor, reader="r")
    other._runner.desk._clock.advance(2 * 3_600)  # type: ignore[attr-defined]
    store.changes(ADA)
    store.log.before("following", other.settle)
    with pytest.raises(NotFoundError):
        store.changes(ADA, after=cursor)


def test_a_reader_that_looks_for_news_writes_nothing_when_there_is_none(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    cursor = store.changes(ADA, reader="r").cursor
    cursor = store.changes(ADA, after=cursor, reader="r").cursor
    before = len(documents)
    for _ in range(5):
        assert store.changes(ADA, after=cursor, reader="r").cursor == cursor
    assert len(documents) == before


def test_what_is_cleared_while_it_is_searched_is_not_found(
    store: PausedStore, other: PausedStore
) -> None:
    for scope in ("s", None):
        store.append(ADA, "s", [say(None, "lighthouse")])
        assert len(store.search(ADA, Search(text="lighthouse", session=scope)).hits) == 1
        store.log.before("spans", lambda: other.clear_session(ADA, "s"))
        assert store.search(ADA, Search(text="lighthouse", session=scope)).hits == []


def test_usage_of_a_session_that_is_deleted_while_it_is_summed_is_gone(
    store: PausedStore, other: PausedStore
) -> None:
    store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=1))
    two = lambda keys: keys[0].id.endswith("002")  # noqa: E731
    store.log.before("get", lambda: other.delete_session(ADA, "s"), two)
    with pytest.raises(NotFoundError):
        store.total_usage(ADA, "s", by="message")


def test_usage_that_goes_with_its_session_leaves_no_look_ups(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    for n in range(50):
        store.add_usage(ADA, "s", Usage(id=f"u{n}", model="m", input_tokens=1))
    store.clear_session(ADA, "s")
    assert not store.add_usage(ADA, "s", Usage(id="u1", model="m", input_tokens=1))
    store.delete_session(ADA, "s")
    store.settle()
    assert [it for it in documents.values() if it.kind is Kind.LOOKUP] == []


def test_the_names_of_documents_go_with_their_session(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.put_document(ADA, "a-name", b"v", session="s")
    store.create_session(ADA, fork_of("s"))
    cursor = store.changes(ADA).cursor
    store.delete_session(ADA, "s")
    store.delete_session(ADA, "fork")
    assert b"a-name" not in texts(documents)
    assert [it.session for it in store.changes(ADA, after=cursor).changes] == ["s", "fork"]


# damage


def damage(documents: dict[Key, Stored], text: bytes) -> None:
    for key, it in documents.items():
        if text in it.data:
            documents[key] = replace(it, data=b"\xc1damage")


def test_a_damaged_document_that_was_put_again_is_in_nobodys_way(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.put_document(ADA, "k", b"broken", session="s")
    damage(documents, b"broken")
    store.put_document(ADA, "k", b"whole", session="s")
    for n in range(40):
        store.append(ADA, "s", [say(f"x{n}")])
    store.settle()
    found = store.find_document(ADA, "k", session="s")
    assert found is not None
    assert found.value == b"whole"


def test_a_damaged_session_can_be_deleted_and_its_owner_erased(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.append(ADA, "s", [say("m3", "secret")])
    damage(documents, b"m1")
    store.delete_session(ADA, "s")
    store.settle()
    assert b"secret" not in texts(documents)
    assert b"damage" not in texts(documents)
    store.erase_owner(ADA)
    assert store.admin.list_owners() == []


def test_a_damaged_record_that_a_fork_may_stand_on_is_left(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.append(ADA, "s", [say("m3")])
    store.create_session(ADA, fork_of("s", "m2"))
    store.append(ADA, "s", [say("m4", "secret")])
    damage(documents, b"m1")
    store.delete_session(ADA, "s")
    store.settle()
    assert b"secret" not in texts(documents)
    with pytest.raises(StoreCorruptError):
        store.read(ADA, "fork", Read())


def test_a_session_whose_state_is_damaged_is_told_by_a_check_and_hides_no_other(
    store: PausedStore, other: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.create_session(ADA, NewSession(id="t"))
    store.append(ADA, "t", [say("t1", "secret")])
    store.put_document(ADA, "k", b"old value", session="t")
    store.put_document(ADA, "k", b"new value", session="t")
    for key, it in documents.items():
        if it.kind is Kind.RECORD and it.n == 0 and b"s" in it.data and b"\xa1t" not in it.data:
            documents[key] = replace(it, data=b"\xc1damage")
    [problem] = other.admin.check()
    assert problem.kind == "session"
    assert "'s'" in problem.where
    with pytest.raises(StoreCorruptError):
        other.settle()
    assert b"old value" not in texts(documents)
    assert [it.kind for it in other.admin.repair()] == ["session"]


def test_rule_08_a_look_up_that_cannot_be_decoded_is_told(
    store: PausedStore, documents: dict[Key, Stored]
) -> None:
    store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=1))
    store.settle()
    for key, it in documents.items():
        if it.kind is Kind.LOOKUP:
            documents[key] = replace(it, data=b"\xc1damage")
    with pytest.raises(StoreCorruptError):
        store.find_messages(ADA, "s", ["m1"])
    with pytest.raises(StoreCorruptError):
        store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=1))
    assert len(store.admin.check()) == 2
    assert store.admin.repair() == []
    assert store.find_messages(ADA, "s", ["m1"]) != [None]
