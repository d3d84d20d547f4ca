"""Going back to a snapshot: everything is as it was, and nothing that was given out since holds."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transfer.random_changes import OPS, act
from transfer.worlds import export, memory, names_in, new_ids, seen_of

import sapwood
from sapwood.errors import (
    ClosedError,
    ConflictError,
    NotFoundError,
    StaleVersionError,
    UsageError,
)
from sapwood.model import NewSession, Read, Search, SessionPatch, Usage
from sapwood.store import Store
from sapwood.stores.memory import AsyncMemoryStore, MemorySnapshot, MemoryStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, ids_told, say

from .acts import OWNER, Clock, append, context, cover, fork, new, shown


def all_of(store: Store) -> Any:
    """Write down all that can be asked for, but for numbers that only grow."""
    names = names_in(store)
    return (
        export(store),
        [seen_of(store, name) for name in names],
        [store.find_session(ADA, name) for name in names],
        [store.list_documents(ADA, session=name) for name in names],
        [store.total_usage(ADA, name, by="message") for name in names],
        store.changes(ADA).changes,
        store.statistics(ADA),
        store.search(ADA, Search(text="m1 OR changed")),
    )


@given(st.lists(OPS, max_size=15), st.lists(OPS, max_size=15), st.booleans())
def test_whatever_was_done_since_is_taken_back(
    before: list[Any], since: list[Any], is_elsewhere: bool
) -> None:
    with memory() as store, memory() as other:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1"), say("m2")])
        for number, op in enumerate(before):
            act(store, number, op)
        kept = all_of(store)
        snapshot = store.snapshot()
        target = other if is_elsewhere else store
        for round in range(2):
            for number, op in enumerate(since):
                act(target, 100 * (round + 1) + number, op)
            target.restore(snapshot)
            assert all_of(target) == kept
            assert target.admin.check() == []
        for number, op in enumerate(since):
            act(target, 100 + number, op)
        target.finish_deletions()
        assert target.admin.check() == []


def test_a_snapshot_does_not_change_with_its_store(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    cover(store, "m1", "m2", id="o")
    fork(store, "f", "m2")
    store.put_document(OWNER, "k", b"v", session="a")
    snapshot = store.snapshot()
    append(store, "m4")
    store.update_message(OWNER, "a", new("m1", "other", tokens=99))
    store.delete_messages(OWNER, "a", ["m3"])
    store.undo_overlay(OWNER, "a", "o")
    store.put_document(OWNER, "k", b"w", session="a")
    store.add_usage(OWNER, "a", Usage(id="u", model="m"))
    store.update_session(OWNER, "a", SessionPatch(title="T"))
    store.delete_session(OWNER, "f")
    store.put_document(OWNER, "mine", b"x")
    store.restore(snapshot)
    assert shown(store) == "[o] m3"
    assert shown(store, "f") == "[o]"
    found = store.find_document(OWNER, "k", session="a")
    assert found is not None
    assert found.value == b"v"
    assert store.total_usage(OWNER, "a") == store.list_documents(OWNER) == []
    record = store.find_session(OWNER, "a")
    assert record is not None
    assert (record.title, record.version, record.messages) == (None, 1, 3)


def test_a_store_that_goes_on_after_a_restore_leaves_the_snapshot_alone(store: MemoryStore) -> None:
    append(store, "m1")
    snapshot = store.snapshot()
    for name in ("x", "y"):
        store.restore(snapshot)
        append(store, name)
        assert shown(store) == f"m1 {name}"


def test_two_stores_with_one_snapshot_do_not_meet(store: MemoryStore, clock: Clock) -> None:
    append(store, "m1")
    with MemoryStore(clock=clock, new_id=lambda: "x") as other:
        other.restore(store.snapshot())
        append(other, "theirs")
        append(store, "ours")
        assert (shown(other), shown(store)) == ("m1 theirs", "m1 ours")


def test_a_restored_store_reads_its_own_clock(store: MemoryStore) -> None:
    append(store, "m1")
    with MemoryStore(clock=lambda: 77, new_id=lambda: "x") as other:
        other.restore(store.snapshot())
        append(other, "m2")
        messages = other.read(OWNER, "a", Read()).messages_only
        assert [it.created_us == 77 for it in messages] == [False, True]


def test_an_id_that_was_taken_back_is_free(store: MemoryStore) -> None:
    snapshot = store.snapshot()
    append(store, "m1")
    store.restore(snapshot)
    store.append(OWNER, "a", [new("m1", "other")])
    assert store.read(OWNER, "a", Read()).messages_only[0].text == "other"


def test_a_reader_that_is_ahead_is_told_to_read_everything(store: MemoryStore) -> None:
    append(store, "m1")
    behind = store.changes(OWNER).cursor
    snapshot = store.snapshot()
    append(store, "m2 m3")
    ahead = store.changes(OWNER).cursor
    store.restore(snapshot)
    for _ in range(2):
        with pytest.raises(NotFoundError) as caught:
            store.changes(OWNER, after=ahead)
        assert caught.value.kind == "cursor"
        append(store, "n2 n3 n4 n5 n6")
    seen = ids_told(store.changes(OWNER, after=behind))
    assert seen == ["n2", "n3", "n4", "n5", "n6"]


def test_a_cursor_from_before_the_snapshot_and_one_from_after_the_restore_hold(
    store: MemoryStore,
) -> None:
    append(store, "m1")
    snapshot = store.snapshot()
    cursors = [store.changes(OWNER).cursor]
    for name in ("x", "y", "z"):
        append(store, f"{name}1")
        store.restore(snapshot)
        append(store, f"{name}2")
        cursors.append(store.changes(OWNER).cursor)
    *taken_back, last = cursors[1:]
    for cursor in taken_back:
        with pytest.raises(NotFoundError):
            store.changes(OWNER, after=cursor)
    assert ids_told(store.changes(OWNER, after=cursors[0])) == ["z2"]
    assert store.changes(OWNER, after=last).changes == []


def test_a_readers_name_is_as_it_was(store: MemoryStore, clock: Clock) -> None:
    append(store, "m1 m2")
    cursor = store.changes(OWNER, limit=2).cursor
    store.changes(OWNER, after=cursor, reader="r")
    snapshot = store.snapshot()
    store.changes(OWNER, after=store.changes(OWNER).cursor, reader="r")
    store.restore(snapshot)
    clock.now += 10 * 3_600_000_000
    store.finish_deletions()
    assert ids_told(store.changes(OWNER, after=cursor)) == ["m2"]


def test_a_version_that_was_given_since_is_never_given_again(store: MemoryStore) -> None:
    snapshot = store.snapshot()
    versions = []
    for value in (b"1", b"2", b"3"):
        store.restore(snapshot)
        versions.append(store.put_document(OWNER, "k", value).version)
    assert versions == sorted(set(versions))
    with pytest.raises(StaleVersionError):
        store.put_document(OWNER, "k", b"4", expected_version=versions[0])


def test_an_overlay_of_what_was_taken_back_is_refused(store: MemoryStore) -> None:
    append(store, "m1 m2")
    before = store.read(OWNER, "a", Read()).snapshot
    snapshot = store.snapshot()
    store.update_message(OWNER, "a", new("m1", "other"))
    since = store.read(OWNER, "a", Read()).snapshot
    store.restore(snapshot)
    with pytest.raises(ConflictError):
        cover(store, "m1", "m2", snapshot=since)
    cover(store, "m1", "m2", id="o", snapshot=before)
    store.undo_overlay(OWNER, "a", "o")
    cover(store, "m1", "m2", snapshot=store.read(OWNER, "a", Read()).snapshot)


def test_what_is_read_right_after_a_restore_can_be_covered(store: MemoryStore) -> None:
    append(store, "m1 m2")
    snapshot = store.snapshot()
    append(store, "m3")
    store.restore(snapshot)
    cover(store, "m1", "m2", id="o", snapshot=store.read(OWNER, "a", Read()).snapshot)
    assert shown(store) == "[o]"


def test_sums_that_were_not_settled_are_settled_after_a_restore(store: MemoryStore) -> None:
    append(store, "m1 m2")
    fork(store, "f", "m2")
    store.update_message(OWNER, "a", new("m1", tokens=50))
    snapshot = store.snapshot()
    store.finish_deletions()
    store.restore(snapshot)
    store.finish_deletions()
    assert (context(store), context(store, "f")) == (60, 60)


def test_a_session_that_is_held_goes_on_from_the_snapshot() -> None:
    with sapwood.open("memory://") as sessions:
        store = sessions.store
        assert isinstance(store, MemoryStore)
        chat = sessions.session("chat")
        chat.append("user", "one")
        snapshot = store.snapshot()
        chat.append("user", "two")
        late = sessions.session("late")
        store.restore(snapshot)
        assert [it.text for it in chat.history().messages_only] == ["one"]
        chat.append("user", "three")
        assert [it.text for it in chat.history().messages_only] == ["one", "three"]
        with pytest.raises(NotFoundError):
            late.history()


def test_clear_forgets_everything(store: MemoryStore) -> None:
    append(store, "m1")
    store.put_document(OWNER, "k", b"v")
    cursor = store.changes(OWNER).cursor
    store.clear()
    assert store.admin.list_owners() == []
    assert store.find_session(OWNER, "a") is None
    with pytest.raises(NotFoundError):
        store.changes(OWNER, after=cursor)
    store.create_session(OWNER, NewSession(id="a"))
    append(store, "m1")
    with pytest.raises(NotFoundError):
        store.changes(OWNER, after=cursor)
    assert ids_told(store.changes(OWNER)) == ["m1"]


def test_what_was_cleared_can_be_restored(store: MemoryStore) -> None:
    append(store, "m1")
    snapshot = store.snapshot()
    store.clear()
    store.restore(snapshot)
    assert shown(store) == "m1"


def test_no_call_sees_half_of_a_restore(store: MemoryStore) -> None:
    snapshots = []
    for name in ("x", "y"):
        store.clear()
        store.create_session(OWNER, NewSession(id="a", title=name))
        store.append(OWNER, "a", [new(f"{name}{n}") for n in range(50)])
        snapshots.append(store.snapshot())
    seen: set[str] = set()
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            seen.add(
                "".join(sorted({it.id[0] for it in store.read(OWNER, "a", Read()).messages_only}))
            )

    thread = threading.Thread(target=look)
    thread.start()
    for number in range(400):
        store.restore(snapshots[number % 2])
    is_over.set()
    thread.join()
    assert seen <= {"x", "y"}


def test_what_is_no_snapshot_is_refused(store: MemoryStore) -> None:
    append(store, "m1")
    with pytest.raises(UsageError, match="snapshot"):
        store.restore({})  # type: ignore[arg-type]
    assert shown(store) == "m1"


def test_a_closed_store_neither_gives_nor_takes_a_snapshot(clock: Clock) -> None:
    store = MemoryStore(clock=clock, new_id=lambda: "x")
    snapshot = store.snapshot()
    store.close()
    for call in (store.snapshot, lambda: store.restore(snapshot), store.clear):
        with pytest.raises(ClosedError):
            call()


async def test_the_async_twin_goes_back_too() -> None:
    numbers = itertools.count()
    async with AsyncMemoryStore(clock=ManualClock(), new_id=lambda: str(next(numbers))) as store:
        await store.create_session(ADA, NewSession(id="s"))
        snapshot = await store.snapshot()
        await store.append(ADA, "s", [say("m1")])
        await store.restore(snapshot)
        assert (await store.read(ADA, "s", Read())).messages_only == []
        await store.clear()
        assert await store.find_session(ADA, "s") is None
        with MemoryStore(clock=ManualClock(), new_id=new_ids()) as other:
            other.restore(snapshot)
            assert names_in(other) == ["s"]


def test_a_snapshot_says_nothing_of_itself(store: MemoryStore) -> None:
    snapshot = store.snapshot()
    assert isinstance(snapshot, MemorySnapshot)
    with pytest.raises(AttributeError):
        snapshot.more = 1  # type: ignore[attr-defined]


def test_a_version_of_a_session_that_was_taken_back_is_never_given_again(
    store: MemoryStore,
) -> None:
    versions = []

    def put() -> None:
        if store.find_session(OWNER, "b") is None:
            store.create_session(OWNER, NewSession(id="b"))
        versions.append(store.put_document(OWNER, "k", b"v", session="b").version)

    without = store.snapshot()
    put()
    snapshot = store.snapshot()
    put()
    for back in (without, snapshot):
        store.restore(back)
        put()
        store.delete_session(OWNER, "b")
        put()
    store.clear()
    put()
    store.restore(snapshot)
    assert shown(store, "b") == ""
    put()
    store.delete_session(OWNER, "b")
    put()
    assert len(set(versions)) == len(versions) == 9


def test_going_back_again_and_again_costs_no_more_each_time(store: MemoryStore) -> None:
    snapshot = store.snapshot()
    for back in (store.clear, lambda: store.restore(snapshot)):
        for _ in range(50):
            back()
            store.create_session(OWNER, NewSession(id="b"))
            append(store, "m1 m2", session="b")
            held = len(store._runner.driver.shelf.documents)
            assert held < 20
