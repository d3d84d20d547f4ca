"""What is copied from a store to another is the same there, whatever was done to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import NotFoundError, UsageError
from sapwood.model import Edge, EdgeKind, NewSession, Usage
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import CopyBegun, CopyDone, CopyEvent, CopyProgress, copy_store

from .copies import all_of, furnished, statuses
from .random_changes import OPS, act
from .test_round_trip import grown, lasting
from .worlds import export, memory, names_in, new_ids, seen_of, sqlite

STATUSES = {"copied", "updated", "equal"}


@given(st.lists(OPS, max_size=30))
def test_whatever_was_done_to_a_store_is_the_same_in_another(ops: list[Any]) -> None:
    with memory() as source, memory() as target:
        grown(ops, source)
        notes: list[str] = []
        copy_store(source, target, on_event=lambda it: notes.extend(getattr(it, "notes", [])))
        assert names_in(target) == names_in(source)
        renamed = [it for it in notes if "got another id" in it]
        for name in names_in(source):
            before, after = seen_of(source, name), seen_of(target, name)
            if renamed:
                del before["overlays"], after["overlays"]
            assert after == before, name
        assert target.admin.check() == []
        cursor = target.changes(ADA).cursor
        again = copy_store(source, target)
        assert (again.written, again.copied, again.failed) == (0, 0, 0)
        assert again.equal == len(names_in(source))
        assert target.changes(ADA).cursor == cursor


@given(st.lists(OPS, max_size=15), st.lists(OPS, max_size=15))
def test_a_second_copy_catches_up_with_whatever_was_done_since(
    ops: list[Any], since: list[Any]
) -> None:
    with memory() as source, memory() as target:
        grown(ops, source)
        copy_store(source, target)
        for number, op in enumerate(since):
            act(source, 100 + number, op)
        found = statuses(source, target)
        assert target.admin.check() == []
        for name, status in found.items():
            if name is None or status not in STATUSES:
                continue
            before, after = seen_of(source, name), seen_of(target, name)
            if has_other_overlays(source, target, name):
                del before["overlays"], after["overlays"]
            assert after == before, name
        if not {kind for kind, *_ in since} & {"clear", "remove", "delete"}:
            assert {*found.values()} <= STATUSES


def has_other_overlays(source: Store, target: Store, name: str) -> bool:
    """Tell whether an overlay got another id."""
    there = {it.id for it in target.list_overlays(ADA, name)}
    return there != {it.id for it in source.list_overlays(ADA, name)}


def test_from_sqlite_over_memory_to_sqlite_nothing_is_lost(tmp_path: Path) -> None:
    with sqlite(tmp_path / "a.db") as a, sqlite(tmp_path / "b.db") as b, memory() as between:
        with furnished() as first:
            copy_store(first, a)
        copy_store(a, between)
        copy_store(between, b)
        assert lasting(export(a)) == lasting(export(b))
        assert all_of(a) == all_of(between) == all_of(b)
        assert b.admin.check() == []


def test_an_empty_source_is_copied_as_nothing() -> None:
    with memory() as source, memory() as target:
        done = copy_store(source, target)
        assert done == CopyDone(copied=0, updated=0, equal=0, failed=0, written=0)
        assert target.admin.list_owners() == []


def test_a_session_without_messages_is_copied() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s", title="Nothing said"))
        assert statuses(source, target) == {None: "equal", "s": "copied"}
        assert all_of(target) == all_of(source)


def test_a_fork_shares_its_tree_with_its_source_there_too() -> None:
    with furnished() as source, memory() as target:
        copy_store(source, target)
        [message] = target.find_messages(ADA, "f", ["m1"])
        assert message is not None
        assert message.home == "s"
        record = target.find_session(ADA, "f")
        assert record is not None
        assert (record.messages, record.parent) == (2, Edge(kind=EdgeKind.BRANCH, session="s"))
        target.update_message(ADA, "s", say("m1", "edited"))
        assert target.find_messages(ADA, "f", ["m1"])[0].text == "edited"  # type: ignore[union-attr]


def test_usage_arrives_message_by_message_with_its_calls() -> None:
    with furnished() as source, memory() as target:
        copy_store(source, target)
        source.add_usage(ADA, "s", Usage(id="more", model="a", message="m2", cost_micros=7))
        source.add_usage(ADA, "s", Usage(id="new", model="c", output_tokens=1))
        copy_store(source, target)
        for by in ("message", "model"):
            wanted = source.total_usage(ADA, "s", by=by)  # type: ignore[arg-type]
            assert target.total_usage(ADA, "s", by=by) == wanted  # type: ignore[arg-type]
        assert sum(it.calls for it in target.total_usage(ADA, "s")) == 6


def test_a_forks_own_overlay_that_says_the_same_as_its_sources_keeps_its_id() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2")])
        source.create_session(ADA, fork_of("s", "m2", id="f"))
        for name, id in (("s", "theirs"), ("f", "own")):
            source.add_overlay(ADA, name, cover("m1", "m2", id=id))
        copy_store(source, target)
        assert [it.id for it in target.list_overlays(ADA, "f")] == ["own"]


def test_sessions_that_name_each_other_as_parents_are_copied() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="a"))
        edge = Edge(kind=EdgeKind.CONTINUE, session="a")
        source.create_session(ADA, NewSession(id="b", parent=edge))
        source.delete_session(ADA, "a")
        back = Edge(kind=EdgeKind.RESET, session="b")
        source.create_session(ADA, NewSession(id="a", parent=back))
        assert set(statuses(source, target).values()) == {"copied", "equal"}
        assert set(statuses(source, target).values()) == {"equal"}


def test_leases_stay_where_they_are() -> None:
    with furnished() as source, memory() as target:
        copy_store(source, target)
        for session in (None, "s"):
            keys = {it.key for it in target.list_documents(ADA, session=session)}
            assert "lease" not in keys


def test_all_owners_are_copied_or_those_that_are_named() -> None:
    with furnished() as source, memory() as target, memory() as other:
        source.create_session("bob", NewSession(id="s"))
        source.append("bob", "s", [say("m1", "bob's")])
        copy_store(source, target)
        for owner in (ADA, "bob"):
            assert all_of(target, owner) == all_of(source, owner)
        copy_store(source, other, owners=["bob", "bob"])
        assert other.admin.list_owners() == ["bob"]
        with pytest.raises(NotFoundError, match="'eve'"):
            copy_store(source, other, owners=[ADA, "eve"])
        assert other.admin.list_owners() == ["bob"]


def test_a_copy_onto_itself_is_refused_by_whatever_name(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite(path) as one, sqlite(path) as other:
        one.create_session(ADA, NewSession(id="s"))
        for target in (one, other):
            with pytest.raises(UsageError, match="same store"):
                copy_store(one, target)
        assert one.list_documents(ADA) == []


def test_a_parent_that_is_gone_from_the_source_is_told_and_no_difference() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="a"))
        edge = Edge(kind=EdgeKind.CONTINUE, session="a")
        source.create_session(ADA, NewSession(id="b", parent=edge))
        source.delete_session(ADA, "a")
        notes: list[str] = []
        copy_store(source, target, on_event=lambda it: notes.extend(getattr(it, "notes", [])))
        assert "which is not there" in notes[0]
        assert statuses(source, target)["b"] == "equal"


def test_a_message_that_the_target_does_not_take_leaves_no_half_session() -> None:
    with furnished() as source:
        source.delete_session(ADA, "f")
        source.append(ADA, "s", [say("big", "x" * 5_000)], parent="m6")
        with MemoryStore(clock=ManualClock(), new_id=new_ids(), max_message_bytes=1_000) as target:
            with pytest.raises(UsageError, match=r"session 's'.*limit is 1000"):
                copy_store(source, target)
            assert names_in(target) == []
            assert [it.key for it in target.list_documents(ADA)] == ["copied:documents", "mine"]


def test_progress_goes_up_to_all_messages_and_ends_there() -> None:
    with memory() as source, memory() as target:
        for name in ("a", "b"):
            source.create_session(ADA, NewSession(id=name))
            source.append(ADA, name, [say(f"m{n}") for n in range(1_200)])
        for _ in range(2):
            events: list[CopyEvent] = []
            copy_store(source, target, on_event=events.append)
            assert events[0] == CopyBegun(owners=1, messages=2_400)
            told = [it for it in events if isinstance(it, CopyProgress)]
            assert len(told) >= 6
            sums = [it.gone_over + it.verified for it in told]
            assert sums == sorted(sums)
            assert told[-1] == CopyProgress(gone_over=2_400, verified=2_400, messages=2_400)
            assert isinstance(events[-1], CopyDone)


def test_what_the_listener_raises_ends_the_copy_and_the_next_one_goes_on() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say(f"m{n}") for n in range(1_200)])

        def stop(event: CopyEvent) -> None:
            if isinstance(event, CopyProgress) and event.gone_over == 1_000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            copy_store(source, target, on_event=stop)
        record = target.find_session(ADA, "s")
        assert record is not None
        assert record.messages == 1_000
        assert copy_store(source, target).written == 200
        assert all_of(target) == all_of(source)
