"""Importing onto sessions that are there: equal messages are skipped, others are a conflict."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from sapwood.errors import ConflictError, MessageConflictError
from sapwood.model import (
    NewSession,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    SystemFields,
)
from sapwood.store import Store
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import import_file

from .worlds import export, joined, lines_of, load, memory, names_in, seen_of


def record_in(store: Store, session: str) -> SessionRecord:
    record = store.find_session(ADA, session)
    assert record is not None
    return record


def furnished() -> Store:
    store = memory()
    store.create_session(ADA, NewSession(id="s", title="A title"))
    store.append(ADA, "s", [say(f"m{n}") for n in range(1, 6)])
    store.append(ADA, "s", [say("x3"), say("x4")], parent="m2")
    store.add_overlay(ADA, "s", cover("m1", "m2", id="o"))
    store.put_document(ADA, "k", b"v", session="s")
    return store


@pytest.fixture
def source() -> Iterator[Store]:
    with furnished() as store:
        yield store


@pytest.fixture
def target(source: Store) -> Iterator[Store]:
    with memory() as store:
        load(store, export(source))
        yield store


def state(store: Store) -> Any:
    return [seen_of(store, name) for name in names_in(store)], store.changes(ADA).cursor


def test_the_same_again_changes_nothing(source: Store, target: Store) -> None:
    before = state(target)
    done = load(target, export(source))
    assert (done.written, done.skipped, done.existing, done.notes) == (0, 7, ["s"], [])
    assert state(target) == before


def test_a_session_keeps_its_kind(source: Store) -> None:
    source.create_session(ADA, NewSession(id="facts", kind="memory"))
    source.append(ADA, "facts", [say("f1")])
    source.create_session(ADA, fork_of("facts", id="check", kind="review"))
    source.create_session(ADA, fork_of("facts", id="chat", kind="chat"))
    with memory() as target:
        load(target, export(source))
        kinds = {name: record_in(target, name).kind for name in names_in(target)}
    assert kinds == {"s": "chat", "facts": "memory", "check": "review", "chat": "chat"}


def test_a_session_keeps_what_the_system_has_of_it_and_when_it_was_active(source: Store) -> None:
    system = SystemFields(key=("agent", "chat"), life=2, next="s", reason="reset")
    source.create_session(ADA, NewSession(id="old", system=system))
    source.append(ADA, "old", [say("o1"), say("o2")])
    source.append(ADA, "old", [say("o3")], parent="o1")
    source.update_session(ADA, "old", SessionPatch(active_us=77, closed=True))
    with memory() as target:
        data = export(source)
        load(target, data)
        record = record_in(target, "old")
        assert (record.system, record.active_us, record.closed) == (system, 77, True)
        listed = target.list_sessions(ADA, SessionQuery(key=("agent",))).sessions
        assert [it.id for it in listed] == ["old"]
        before = record_in(target, "old"), record_in(target, "s")
        load(target, data)
        assert (record_in(target, "old"), record_in(target, "s")) == before


def test_a_file_without_kinds_is_of_chats(source: Store) -> None:
    lines = lines_of(export(source))
    for line in lines:
        for name in ("session_kind", "system"):
            line.pop(name, None)
    with memory() as target:
        load(target, joined(lines))
        record = record_in(target, "s")
        assert (record.kind, record.system) == ("chat", SystemFields())


def test_what_is_new_is_added_on_its_branch(source: Store, target: Store) -> None:
    source.append(ADA, "s", [say("m6")], parent="m5")
    source.append(ADA, "s", [say("y3")], parent="m2")
    done = load(target, export(source))
    assert (done.written, done.skipped) == (2, 7)
    assert seen_of(target, "s") == seen_of(source, "s")


def test_a_session_that_is_closed_here_takes_nothing_and_says_so(
    source: Store, target: Store
) -> None:
    target.update_session(ADA, "s", SessionPatch(closed=True))
    before = state(target)
    load(target, export(source))
    assert state(target) == before
    source.append(ADA, "s", [say("m6")], parent="m5")
    with pytest.raises(MessageConflictError, match=r"'m6' is not in the store.*closed"):
        load(target, export(source))
    assert state(target) == before


def test_a_gap_that_a_closed_session_lacks_is_told_before_anything_is_written(
    source: Store, target: Store
) -> None:
    source.create_session(ADA, NewSession(id="r"))
    source.append(ADA, "s", [say("m6")], parent="m5")
    source.delete_messages(ADA, "s", ["m6"])
    target.update_session(ADA, "s", SessionPatch(closed=True))
    before = state(target)
    with pytest.raises(MessageConflictError, match=r"gap 'm6' is not in the store"):
        load(target, export(source))
    assert state(target) == before


def test_what_went_on_by_itself_stays_with_its_tip(source: Store, target: Store) -> None:
    target.append(ADA, "s", [say("t1")])
    source.append(ADA, "s", [say("m6")], parent="m5")
    load(target, export(source))
    seen = seen_of(target, "s")
    assert seen["tip"] == "t1"
    assert {"t1", "m6"} <= seen["messages"].keys()


def test_a_tip_that_the_file_knows_moves_to_the_files(source: Store, target: Store) -> None:
    target.checkout(ADA, "s", "m1")
    load(target, export(source))
    assert seen_of(target, "s")["tip"] == "x4"


def refused(target: Store, source: Store, told: str) -> None:
    before = state(target)
    with pytest.raises(MessageConflictError, match=told) as caught:
        load(target, export(source))
    assert "nothing was written" in str(caught.value)
    assert state(target) == before


def test_other_content_is_a_conflict(source: Store, target: Store) -> None:
    source.update_message(ADA, "s", say("m3", "other"))
    source.append(ADA, "s", [say("new")])
    refused(target, source, "'m3' has other content")


def test_an_edit_on_both_sides_that_agrees_is_none(source: Store, target: Store) -> None:
    for store in (source, target):
        store.update_message(ADA, "s", say("m3", "other"))
    assert load(target, export(source)).skipped == 7


def test_another_parent_is_a_conflict(target: Store) -> None:
    with memory() as source:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m3")])
        refused(target, source, "'m3' follows another")


def test_another_first_message_is_a_conflict(target: Store) -> None:
    with memory() as source:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m2")])
        refused(target, source, "'m2' follows another")


def test_a_message_that_was_deleted_here_is_a_conflict(source: Store, target: Store) -> None:
    target.delete_messages(ADA, "s", ["m3"])
    refused(target, source, "'m3' was deleted")


def test_a_deletion_between_parent_and_child_is_none(source: Store, target: Store) -> None:
    for store in (source, target):
        store.delete_messages(ADA, "s", ["m3"])
    assert load(target, export(source)).skipped == 6


def test_another_summary_under_the_same_id_is_a_conflict(source: Store, target: Store) -> None:
    source.undo_overlay(ADA, "s", "o")
    source.add_overlay(ADA, "s", cover("m1", "m1", id="o"))
    with pytest.raises(ConflictError, match="overlay 'o'"):
        load(target, export(source))


def test_a_conflict_in_the_last_session_keeps_the_first_from_being_written(
    source: Store, target: Store
) -> None:
    source.update_message(ADA, "s", say("m1", "other"))
    source.create_session(ADA, NewSession(id="a", created_us=0))
    source.append(ADA, "a", [say("a1")])
    data = export(source, "a", "s")
    assert [line["id"] for line in lines_of(data, "session")] == ["a", "s"]
    with pytest.raises(MessageConflictError):
        load(target, data)
    assert names_in(target) == ["s"]


def test_a_conflict_names_a_few_and_counts_the_rest(source: Store, target: Store) -> None:
    for id in seen_of(source, "s")["messages"]:
        source.update_message(ADA, "s", say(id, "other"))
    refused(target, source, "and 2 more")


def test_the_record_and_documents_that_are_here_stay(source: Store, target: Store) -> None:
    target.update_session(ADA, "s", SessionPatch(title="Mine"))
    target.put_document(ADA, "k", b"mine", session="s")
    source.put_document(ADA, "k2", b"new", session="s")
    done = load(target, export(source))
    seen = seen_of(target, "s")
    assert seen["record"][0] == "Mine"
    assert seen["documents"] == {"k": (b"mine", True), "k2": (b"new", True)}
    assert "kept the document 'k'" in done.notes[0]


def test_an_overlay_that_does_not_fit_any_more_is_left_out_and_told(
    source: Store, target: Store
) -> None:
    source.undo_overlay(ADA, "s", "o")
    source.add_overlay(ADA, "s", cover("m2", "x3", id="p"))
    done = load(target, export(source))
    assert "left out overlay 'p'" in done.notes[0]


def test_an_import_that_is_ended_deletes_the_session_that_it_began(source: Store) -> None:
    data = export(source)

    def stop(position: int) -> None:
        if position > len(data) + 600:
            assert names_in(target) == ["s"], "nothing was begun"
            raise KeyboardInterrupt

    with memory() as target:
        with pytest.raises(KeyboardInterrupt):
            import_file(target, ADA, io.BytesIO(data), stop)
        assert names_in(target) == []
        load(target, export(source))
        assert seen_of(target, "s") == seen_of(source, "s")


def test_an_import_that_is_ended_leaves_a_session_that_was_there(
    source: Store, target: Store
) -> None:
    def stop(position: int) -> None:
        raise KeyboardInterrupt

    source.append(ADA, "s", [say("m6")])
    with pytest.raises(KeyboardInterrupt):
        import_file(target, ADA, io.BytesIO(export(source)), stop)
    assert {"m1", "m6"} <= seen_of(target, "s")["messages"].keys()
    load(target, export(source))
    assert seen_of(target, "s") == seen_of(source, "s")


def test_owners_do_not_meet(source: Store, target: Store) -> None:
    source.update_message(ADA, "s", say("m1", "other"))
    load(target, export(source), owner="bob")
    assert seen_of(target, "s", "bob") == seen_of(source, "s")
    assert seen_of(target, "s") != seen_of(source, "s")
