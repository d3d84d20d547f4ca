"""A copy that is killed, runs again, meets other writers or finds others' work on the target."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import ConflictError
from sapwood.model import (
    NewSession,
    Read,
    SessionPatch,
    SystemFields,
    SystemPatch,
    Usage,
)
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import CopyEvent, CopyProgress, SessionCopied, copy_store

from .copies import all_of, furnished, statuses
from .test_cut_off import KilledError, Watched, kill_after, revive, watched
from .worlds import memory, names_in, new_ids, seen_of, sqlite


@pytest.fixture
def source() -> Iterator[MemoryStore]:
    with furnished() as store:
        yield store


@pytest.fixture
def target(source: Store) -> Iterator[MemoryStore]:
    with memory() as store:
        copy_store(source, store)
        yield store


def test_sessions_of_all_kinds_are_copied_and_keep_theirs(source: Store) -> None:
    source.create_session(ADA, NewSession(id="facts", kind="memory"))
    source.append(ADA, "facts", [say("f1")])
    source.create_session(ADA, fork_of("facts", id="check", kind="review"))
    with memory() as target:
        copy_store(source, target)
        assert statuses(source, target)["facts"] == "equal"
        for name, kind in (("facts", "memory"), ("check", "review"), ("s", "chat")):
            record = target.find_session(ADA, name)
            assert record is not None
            assert record.kind == kind


def test_what_the_system_has_of_a_session_and_its_activity_are_followed(source: Store) -> None:
    system = SystemFields(key=("agent",), life=1)
    source.create_session(ADA, NewSession(id="old", system=system))
    source.append(ADA, "old", [say("o1")])
    with memory() as target:
        copy_store(source, target)
        patch = SystemPatch(next="s", life=2)
        source.update_session(ADA, "old", SessionPatch(system=patch, active_us=77))
        assert statuses(source, target)["old"] == "updated"
        assert statuses(source, target)["old"] == "equal"
        record = target.find_session(ADA, "old")
        assert record is not None
        assert record.system == SystemFields(key=("agent",), life=2, next="s")
        assert record.active_us == 77


def test_a_session_of_another_kind_is_not_written_to(source: Store) -> None:
    source.create_session(ADA, NewSession(id="facts", kind="memory", created_us=1))
    with memory() as target:
        target.create_session(ADA, NewSession(id="facts", created_us=1))
        before = target.find_session(ADA, "facts")
        assert statuses(source, target)["facts"] == "conflict"
        assert target.find_session(ADA, "facts") == before


def go_on(source: Store) -> None:
    """Do to a store all that a copy can follow."""
    source.append(ADA, "s", [say("m7"), say("m8")], parent="m6")
    source.append(ADA, "s", [say("y1")], parent="m1")
    source.update_message(ADA, "s", say("m4", "edited", tokens=99, extra={"n": 1}))
    source.delete_messages(ADA, "s", ["m3", "x4"])
    source.update_session(ADA, "s", SessionPatch(title="Another", tags=["t"], attributes={"n": 1}))
    source.put_document(ADA, "k", b"changed", session="s")
    source.delete_document(ADA, "late", session="s")
    source.undo_overlay(ADA, "s", "both")
    source.add_overlay(ADA, "s", cover("m4", "m5", id="new", leaf="m6"))
    source.add_usage(ADA, "s", Usage(id="u9", model="a", message="m2", input_tokens=50))
    source.append(ADA, "f", [say("f6")])
    source.update_session(ADA, "f", SessionPatch(closed=True))
    source.create_session(ADA, fork_of("s", "m8", id="g"))
    source.put_document(ADA, "mine", b"changed")
    source.put_document(ADA, "more", b"new")


def marks_in(store: Store) -> list[str]:
    return [it.key for it in store.list_documents(ADA) if it.key.startswith("importing:")]


def test_a_second_copy_follows_what_was_done_to_the_source(source: Store, target: Store) -> None:
    go_on(source)
    assert statuses(source, target) == {
        None: "updated",
        "s": "updated",
        "f": "updated",
        "g": "copied",
    }
    assert all_of(target) == all_of(source)
    assert set(statuses(source, target).values()) == {"equal"}
    assert target.admin.check() == []


def test_a_session_that_was_closed_and_went_on_is_followed(source: Store, target: Store) -> None:
    for n in range(2):
        source.update_session(ADA, "s", SessionPatch(closed=True))
        assert statuses(source, target)["s"] == "updated"
        assert all_of(target) == all_of(source)
        source.update_session(ADA, "s", SessionPatch(closed=False))
        source.append(ADA, "s", [say(f"again{n}")])
        if n:
            source.update_session(ADA, "s", SessionPatch(closed=True))
        assert statuses(source, target)["s"] == "updated"
        assert all_of(target) == all_of(source)
        assert statuses(source, target)["s"] == "equal"


def test_a_document_of_the_owner_that_was_deleted_is_deleted(source: Store, target: Store) -> None:
    source.delete_document(ADA, "mine")
    target.put_document(ADA, "theirs", b"stays")
    assert statuses(source, target)[None] == "updated"
    found = {it.key for it in target.list_documents(ADA) if it.expires_us is None}
    assert found == {"theirs"}


def killed_and_resumed(source: Store, target: Watched, writes: int) -> bool:
    kill_after(target, writes)
    try:
        copy_store(source, target)
    except KilledError:
        revive(target)
        return True
    revive(target)
    return False


@pytest.mark.parametrize("writes", range(0, 45))
def test_after_a_kill_at_any_write_the_same_command_finishes(source: Store, writes: int) -> None:
    with watched() as target:
        killed_and_resumed(source, target, writes)
        copy_store(source, target)
        assert all_of(target) == all_of(source)
        assert marks_in(target) == []
        assert set(statuses(source, target).values()) == {"equal"}


def test_the_kills_above_reach_over_the_whole_copy(source: Store) -> None:
    with watched() as target:
        assert not killed_and_resumed(source, target, 44)
        go_on(source)
        assert not killed_and_resumed(source, target, 39)


@pytest.mark.parametrize("writes", range(0, 45))
def test_after_a_kill_the_source_may_have_gone_on(source: Store, writes: int) -> None:
    with watched() as target:
        killed_and_resumed(source, target, writes)
        go_on(source)
        copy_store(source, target)
        assert all_of(target) == all_of(source)
        assert marks_in(target) == []


@pytest.mark.parametrize("writes", range(0, 40))
def test_a_second_copy_may_be_killed_at_any_write(source: Store, writes: int) -> None:
    with watched() as target:
        copy_store(source, target)
        go_on(source)
        killed_and_resumed(source, target, writes)
        source.update_message(ADA, "s", say("m4", "edited again"))
        source.put_document(ADA, "mine", b"changed again")
        copy_store(source, target)
        assert all_of(target) == all_of(source)
        assert marks_in(target) == []


THEIRS: dict[str, tuple[Callable[[Store], Any], str]] = {
    "an edit": (lambda it: it.update_message(ADA, "s", say("m1", "x")), "'m1' has other parts"),
    "an append": (lambda it: it.append(ADA, "s", [say("t1")]), "'t1' is not in the source"),
    "a deletion": (lambda it: it.delete_messages(ADA, "s", ["m2"]), "'m2' was deleted there"),
    "a title": (
        lambda it: it.update_session(ADA, "s", SessionPatch(title="x")),
        "title is another",
    ),
    "a document": (lambda it: it.put_document(ADA, "k", b"x", session="s"), "'k' is another"),
    "one more": (lambda it: it.put_document(ADA, "k2", b"x", session="s"), "'k2' is not in"),
    "an overlay": (
        lambda it: it.add_overlay(ADA, "s", cover("m4", "m5", id="t", leaf="m5")),
        "overlay 't' is not in force",
    ),
    "usage": (lambda it: it.add_usage(ADA, "s", Usage(id="t", model="a")), "usage of model 'a'"),
}


@pytest.mark.parametrize("what", THEIRS)
def test_what_others_wrote_on_the_target_is_a_conflict_and_stays(
    source: Store, target: Store, what: str
) -> None:
    write, told = THEIRS[what]
    write(target)
    source.append(ADA, "s", [say("new")])
    source.create_session(ADA, NewSession(id="z"))
    before = all_of(target)[0]
    with pytest.raises(ConflictError, match=told) as caught:
        copy_store(source, target)
    assert "owner 'ada', session 's': nothing of it was written" in str(caught.value)
    after = all_of(target)[0]
    assert after.pop("z") is not None, "the others are copied"
    assert after == before
    assert marks_in(target) == []


def test_a_tip_that_others_moved_makes_the_session_theirs(source: Store, target: Store) -> None:
    target.checkout(ADA, "s", "m1")
    assert statuses(source, target)["s"] == "updated", "a tip alone goes where the source has it"
    assert all_of(target) == all_of(source)
    target.checkout(ADA, "s", "m1")
    source.update_message(ADA, "s", say("m4", "edited"))
    assert statuses(source, target)["s"] == "conflict"
    assert seen_of(target, "s")["tip"] == "m1"


def test_another_session_under_the_same_id_is_a_conflict(source: Store) -> None:
    with memory() as target:
        target.create_session(ADA, NewSession(id="s"))
        target.append(ADA, "s", [say("m1", "another story"), say("m3")])
        before = all_of(target)[0]
        with pytest.raises(ConflictError, match=r"created at another time.*'m3' follows another"):
            copy_store(source, target)
        assert all_of(target)[0] == before


def test_a_fork_of_what_was_not_copied_is_not_copied_either(source: Store) -> None:
    with memory() as target:
        target.create_session(ADA, NewSession(id="s"))
        assert statuses(source, target) == {None: "copied", "s": "conflict", "f": "conflict"}
        assert names_in(target) == ["s"]


def test_a_fork_is_not_equal_when_what_it_inherits_is_another(source: Store, target: Store) -> None:
    target.update_message(ADA, "s", say("m1", "theirs"))
    assert statuses(source, target) == {None: "equal", "s": "conflict", "f": "conflict"}


def test_a_document_of_the_owner_that_others_wrote_is_a_conflict(
    source: Store, target: Store
) -> None:
    target.put_document(ADA, "mine", b"theirs")
    source.put_document(ADA, "new", b"x")
    with pytest.raises(ConflictError, match=r"documents: none was written.*'mine'"):
        copy_store(source, target)
    assert target.find_document(ADA, "new") is None


def test_what_is_missing_on_the_target_is_added_though_no_copy_was_there_before(
    source: Store, target: Store
) -> None:
    for name in names_in(target):
        target.delete_document(ADA, "copied", session=name)
    source.append(ADA, "s", [say("new")])
    assert statuses(source, target)["s"] == "updated"
    assert all_of(target) == all_of(source)
    target.delete_document(ADA, "copied", session="s")
    source.update_message(ADA, "s", say("m1", "edited"))
    assert statuses(source, target)["s"] == "conflict"


def test_a_message_that_the_source_never_had_is_not_deleted_from_what_is_ours(
    source: Store,
) -> None:
    with watched() as target:
        killed_and_resumed(source, target, 6)
        assert marks_in(target) != []
        target.append(ADA, "s", [say("live")])
        assert statuses(source, target)["s"] == "conflict"
        assert "live" in seen_of(target, "s")["messages"]


class Talking(MemoryStore):
    """A store whose agents write while it is read."""

    before: Callable[[], None] = staticmethod(lambda: None)

    def read(self, owner: str, session: str, query: Read) -> Any:
        self.before()
        return super().read(owner, session, query)


def talking(most: int, *, only_usage: bool = False) -> Talking:
    store = Talking(clock=ManualClock(), new_id=new_ids())
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"m{n}") for n in range(1_200)])
    numbers = count()

    def talk() -> None:
        number = next(numbers)
        if number < most and only_usage:
            store.add_usage(ADA, "s", Usage(id=f"u{number}", model="m", input_tokens=1))
        elif number < most:
            store.append(ADA, "s", [say(f"live{number}")])
            store.update_message(ADA, "s", say("m700", f"edit {number}"))
            store.put_document(ADA, "k", b"%d" % number, session="s")

    store.before = talk  # type: ignore[method-assign]
    return store


def test_a_source_that_is_written_to_meanwhile_is_caught_up_with() -> None:
    with talking(9) as source, memory() as target:
        assert statuses(source, target)["s"] == "copied"
        assert all_of(target) == all_of(source)
        assert "live8" in seen_of(target, "s")["messages"]


def test_a_model_call_that_is_recorded_meanwhile_is_no_difference() -> None:
    with talking(17, only_usage=True) as source, memory() as target:
        assert statuses(source, target)["s"] == "copied"
        [total] = target.total_usage(ADA, "s")
        assert (total.calls, total.input_tokens) == (17, 17)


def test_a_source_that_changes_all_the_time_is_told_and_caught_up_with_later() -> None:
    with talking(10**9) as source, memory() as target:
        with pytest.raises(ConflictError, match="changes faster than it is copied"):
            copy_store(source, target)
        there = [it.id for it in target.read(ADA, "s", Read(overlays=False)).messages_only]
        here = [it.id for it in source.read(ADA, "s", Read(overlays=False)).messages_only]
        assert len(there) > 1_200
        assert there == here[: len(there)], "what is there is a beginning of it"
        source.before = lambda: None  # type: ignore[method-assign]
        assert statuses(source, target)["s"] == "updated"
        assert all_of(target) == all_of(source)


def test_a_session_that_is_deleted_meanwhile_is_not_on_the_target() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say(f"m{n}") for n in range(1_200)])

        def delete(event: CopyEvent) -> None:
            if isinstance(event, CopyProgress) and source.find_session(ADA, "s"):
                source.delete_session(ADA, "s")

        found: list[CopyEvent] = []
        copy_store(source, target, on_event=lambda it: (delete(it), found.append(it))[0])
        assert [it.status for it in found if isinstance(it, SessionCopied)][-1] == "gone"
        assert names_in(target) == []
        assert marks_in(target) == []


def test_writers_of_the_source_and_a_copy_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with sqlite(tmp_path / "a.db") as source, sqlite(tmp_path / "b.db") as target:
        source.create_session(ADA, NewSession(id="s", created_us=5))
        source.append(ADA, "s", [say(f"m{n}") for n in range(3_000)])
        is_over = threading.Event()
        said: list[str] = []

        def talk() -> None:
            # No more than so many: where a copy is slow, it would have more and more to read.
            while not is_over.is_set() and len(said) < 3_000:
                said.append(f"live{len(said)}")
                source.append(ADA, "s", [say(said[-1])])

        thread = threading.Thread(target=talk)
        thread.start()
        try:
            status = statuses(source, target)["s"]
        finally:
            is_over.set()
            thread.join()
        assert status in ("copied", "conflict")
        there = [it.id for it in target.read(ADA, "s", Read(overlays=False)).messages_only]
        assert there == [f"m{n}" for n in range(3_000)] + said[: len(there) - 3_000]
        copy_store(source, target)
        assert all_of(target) == all_of(source)


def test_two_copies_at_once_end_as_one_does(tmp_path: Path) -> None:
    with sqlite(tmp_path / "a.db") as source, sqlite(tmp_path / "b.db") as target:
        with furnished() as first:
            copy_store(first, source)
        for number in range(8):
            source.create_session(ADA, NewSession(id=f"long{number}", created_us=number))
            source.append(ADA, f"long{number}", [say(f"m{n}") for n in range(800)])
            source.create_session(ADA, fork_of(f"long{number}", "m600", id=f"fork{number}"))
            source.append(ADA, f"fork{number}", [say("own")])
        work = [threading.Thread(target=statuses, args=(source, target)) for _ in range(2)]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        assert all_of(target) == all_of(source)
        assert copy_store(source, target).equal == 18
        assert marks_in(target) == []
        assert target.admin.check() == []


def test_a_session_that_somebody_creates_meanwhile_is_compared(source: Store) -> None:
    with watched() as target:

        def before(what: str) -> None:
            if what == "create_session":
                revive(target)
                target.create_session(ADA, NewSession(id="s"))

        target.before = before  # type: ignore[method-assign]
        with pytest.raises(ConflictError, match="created at another time"):
            copy_store(source, target)
