"""What a model is shown is the same after a copy, at every leaf of every session."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.model import NewSession, Read
from sapwood.store import Store
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import copy_store

from .copies import statuses
from .random_changes import act
from .test_cut_off import KilledError, kill_after, revive, watched
from .worlds import export, load, memory, shown_everywhere, sqlite

KINDS = ["append", "branch", "branch", *["cover"] * 5, *["delete"] * 4, "undo", "fork", "fork"]
OPS = st.lists(
    st.tuples(
        st.sampled_from([*KINDS, "detach", "checkout", "pin", "remove"]),
        *[st.integers(0, 1_000)] * 3,
    ),
    min_size=4,
    max_size=40,
)
Carry = Callable[[Store, Store], Any]


def carry_by_file(source: Store, target: Store) -> None:
    load(target, export(source))


CARRIERS: dict[str, Carry] = {"copy": copy_store, "file": carry_by_file}


def planted(store: Store) -> None:
    """Begin with a path that branches in the middle and has a fork."""
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"r{n}") for n in range(1, 7)])
    store.append(ADA, "s", [say("x4"), say("x5")], parent="r3")
    store.create_session(ADA, fork_of("s", "r5", id="f"))
    store.append(ADA, "f", [say("y5")], parent="r4")


def grown(store: Store, ops: list[Any]) -> None:
    planted(store)
    for number, op in enumerate(ops):
        act(store, number, op)
    store.finish_deletions()


@settings(max_examples=60)
@given(OPS)
def test_after_a_copy_every_leaf_shows_what_it_showed(ops: list[Any]) -> None:
    with memory() as source, memory() as target:
        grown(source, ops)
        copy_store(source, target)
        assert shown_everywhere(target) == shown_everywhere(source)
        assert target.admin.check() == []
        cursor = target.changes(ADA).cursor
        assert set(statuses(source, target).values()) <= {"equal"}
        assert target.changes(ADA).cursor == cursor


@settings(max_examples=15)
@given(OPS)
def test_after_a_copy_out_of_sqlite_every_leaf_shows_what_it_showed(ops: list[Any]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        sqlite(Path(folder) / "a.db") as source,
        memory() as target,
    ):
        grown(source, ops)
        copy_store(source, target)
        assert shown_everywhere(target) == shown_everywhere(source)
        assert set(statuses(source, target).values()) <= {"equal"}


@settings(max_examples=60)
@given(OPS)
def test_after_an_import_every_leaf_shows_what_it_showed(ops: list[Any]) -> None:
    with memory() as source, memory() as target:
        grown(source, ops)
        data = export(source)
        load(target, data)
        assert shown_everywhere(target) == shown_everywhere(source)
        assert target.admin.check() == []
        cursor = target.changes(ADA).cursor
        again = load(target, data)
        assert (again.written, again.created) == (0, [])
        assert target.changes(ADA).cursor == cursor
        assert shown_everywhere(target) == shown_everywhere(source)


@settings(max_examples=60)
@given(OPS, OPS)
def test_a_second_copy_shows_what_was_done_since_or_says_where_not(
    ops: list[Any], since: list[Any]
) -> None:
    with memory() as source, memory() as target:
        grown(source, ops)
        copy_store(source, target)
        for number, op in enumerate(since):
            act(source, 100 + number, op)
        found = statuses(source, target)
        shown, wanted = shown_everywhere(target), shown_everywhere(source)
        for name, status in found.items():
            if name is not None and status in {"copied", "updated", "equal"}:
                assert shown[name] == wanted[name], name
        again = statuses(source, target)
        assert {again[name] for name, it in found.items() if it in {"copied", "updated"}} <= {
            "equal"
        }


@pytest.fixture(params=CARRIERS)
def carry(request: pytest.FixtureRequest) -> Carry:
    return CARRIERS[request.param]


def test_an_overlay_that_ends_at_a_deleted_message_hides_nothing_on_another_branch(
    carry: Carry,
) -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        said = [say("m1"), say("allergy", "My allergy: penicillin."), say("m3"), say("m4")]
        source.append(ADA, "s", said)
        source.append(ADA, "s", [say("x3")], parent="allergy")
        source.add_overlay(ADA, "s", cover("allergy", "m3", id="o", leaf="m4"))
        source.delete_messages(ADA, "s", ["m3"])
        carry(source, target)
        history = target.read(ADA, "s", Read(leaf="x3"))
        assert [it.text for it in history.entries] == ["m1", "My allergy: penicillin.", "x3"]
        assert shown_everywhere(target) == shown_everywhere(source)


def test_a_summary_whose_messages_are_all_deleted_is_kept(carry: Carry) -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        source.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
        source.delete_messages(ADA, "s", ["m2", "m3"])
        carry(source, target)
        assert shown_everywhere(target) == {
            "s": {"m1": ["m1"], "m3": ["m1", ["from m2 to m3", []]], "tip": "m3"}
        }


def delete_what_forks_cover(store: Store) -> None:
    """Let forks, and a fork of a fork, have overlays that end at what their source deleted."""
    planted(store)
    store.add_overlay(ADA, "s", cover("r4", "r5", id="o", leaf="r6"))
    for name, above, message in (("g", "s", "r6"), ("h", "g", "g7")):
        store.create_session(ADA, fork_of(above, message, id=name))
        store.append(ADA, name, [say(f"{name}7")])
    store.undo_overlay(ADA, "s", "o")
    store.add_overlay(ADA, "h", cover("<o>", "r6", id="p"))
    store.add_overlay(ADA, "s", cover("x4", "x5", id="x", leaf="x5"))
    store.delete_messages(ADA, "s", ["r4", "r5", "r6", "x5"])


def test_an_overlay_that_only_a_fork_has_may_end_at_what_its_source_deleted(carry: Carry) -> None:
    with memory() as source, memory() as target:
        delete_what_forks_cover(source)
        carry(source, target)
        assert shown_everywhere(target) == shown_everywhere(source)


def test_a_gap_stays_open_until_the_fork_that_awaits_it_can_be_copied() -> None:
    with memory() as source, memory() as target:
        delete_what_forks_cover(source)
        target.create_session(ADA, NewSession(id="h", created_us=1))
        for _ in range(2):
            found = statuses(source, target)
            shown, wanted = shown_everywhere(target), shown_everywhere(source)
            equal = {name for name in wanted if shown[name] == wanted[name]}
            assert {name for name in wanted if found[name] != "conflict"} == equal == set()
        ends = target.find_messages(ADA, "s", ["r4", "r6", "x5"])
        assert [it is not None for it in ends] == [True, True, False], "what none awaits is empty"
        target.delete_session(ADA, "h")
        told = {"s": "updated", "f": "equal", "g": "equal", "h": "copied"}
        assert statuses(source, target) == {None: "equal", **told}
        assert shown_everywhere(target) == shown_everywhere(source)
        assert set(statuses(source, target).values()) == {"equal"}


@pytest.mark.parametrize("writes", [3, 10, *range(12, 29, 2), 44])
def test_places_are_not_held_open_for_ever_by_a_session_that_the_source_deleted(
    writes: int,
) -> None:
    with memory() as source, watched() as target:
        delete_what_forks_cover(source)
        kill_after(target, writes)
        with contextlib.suppress(KilledError):
            copy_store(source, target)
        revive(target)
        source.delete_session(ADA, "s")
        source.finish_deletions()
        assert set(statuses(source, target).values()) <= {"copied", "updated", "equal"}
        shown, wanted = shown_everywhere(target), shown_everywhere(source)
        assert {name: shown[name] for name in wanted} == wanted


def test_a_session_waits_for_the_one_that_it_came_out_of() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="q"))
        source.append(ADA, "q", [say("q1")])
        source.create_session(ADA, fork_of("q", id="p"))
        source.append(ADA, "p", [say("p1")])
        source.create_session(ADA, fork_of("p", id="c", detach=True))
        target.create_session(ADA, NewSession(id="q", created_us=1))
        assert set(statuses(source, target).values()) == {"equal", "conflict"}
        target.delete_session(ADA, "q")
        assert set(statuses(source, target).values()) == {"equal", "copied"}
        assert shown_everywhere(target) == shown_everywhere(source)


def test_a_session_that_was_cleared_is_not_told_as_equal() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2")])
        source.delete_messages(ADA, "s", ["m1", "m2"])
        copy_store(source, target)
        source.clear_session(ADA, "s")
        assert statuses(source, target)["s"] == "conflict"


@pytest.mark.parametrize("writes", range(0, 45))
def test_after_a_kill_at_any_write_the_same_command_shows_all(carry: Carry, writes: int) -> None:
    with memory() as source, watched() as target:
        delete_what_forks_cover(source)
        kill_after(target, writes)
        with contextlib.suppress(KilledError):
            carry(source, target)
        revive(target)
        carry(source, target)
        assert shown_everywhere(target) == shown_everywhere(source)


def test_the_kills_above_reach_over_the_whole_of_it(carry: Carry) -> None:
    with memory() as source, watched() as target:
        delete_what_forks_cover(source)
        kill_after(target, 44)
        carry(source, target)


def test_what_was_covered_and_deleted_since_the_last_copy_is_followed() -> None:
    with memory() as source, memory() as target:
        planted(source)
        copy_store(source, target)
        for name, first, last in (("s", "r5", "r6"), ("f", "r3", "r5")):
            source.add_overlay(ADA, name, cover(first, last, id=name, leaf=last))
        source.delete_messages(ADA, "s", ["r3", "r5", "r6"])
        assert statuses(source, target) == {None: "equal", "s": "updated", "f": "updated"}
        assert shown_everywhere(target) == shown_everywhere(source)
        assert set(statuses(source, target).values()) == {"equal"}


def test_of_two_overlays_over_the_same_range_the_newer_one_is_shown(carry: Carry) -> None:
    with memory() as source, memory() as target:
        planted(source)
        source.add_overlay(ADA, "s", cover("r1", "r2", id="old"))
        source.add_overlay(ADA, "s", cover("<old>", "<old>", id="new", summary="newer"))
        source.create_session(ADA, fork_of("s", "r5", id="g"))
        source.undo_overlay(ADA, "s", "old")
        carry(source, target)
        assert shown_everywhere(target) == shown_everywhere(source)


def test_a_second_copy_of_an_unchanged_source_changes_nothing() -> None:
    with memory() as source, memory() as target:
        planted(source)
        source.add_overlay(ADA, "s", cover("r2", "r2", id="inner", leaf="r2"))
        source.add_overlay(ADA, "s", cover("r1", "r3", id="outer", leaf="r3"))
        source.delete_messages(ADA, "s", ["r3"])
        copy_store(source, target)
        for _ in range(2):
            cursor = target.changes(ADA).cursor
            assert statuses(source, target) == {None: "equal", "s": "equal", "f": "equal"}
            assert target.changes(ADA).cursor == cursor
        assert shown_everywhere(target) == shown_everywhere(source)


def test_an_overlay_that_others_hide_by_now_is_put_under_them() -> None:
    with memory() as source, memory() as target:
        planted(source)
        source.add_overlay(ADA, "s", cover("r1", "r3", id="short", leaf="r3"))
        copy_store(source, target)
        source.undo_overlay(ADA, "s", "short")
        source.add_overlay(ADA, "s", cover("r2", "r5", id="long", leaf="r6"))
        source.add_overlay(ADA, "s", cover("r1", "r3", id="short", leaf="r3"))
        assert statuses(source, target) == {None: "equal", "s": "updated", "f": "equal"}
        assert shown_everywhere(target) == shown_everywhere(source)


def test_a_deleted_message_keeps_its_id_and_its_place(carry: Carry) -> None:
    with memory() as source, memory() as target:
        planted(source)
        source.delete_messages(ADA, "s", ["r2", "r5", "r6", "x5"])
        carry(source, target)
        for name, leaf in (("s", "r6"), ("s", "x5"), ("f", "r5")):
            gaps = [
                [(it.id, it.position.depth, it.home) for it in store.list_gaps(ADA, name, leaf)]
                for store in (source, target)
            ]
            assert gaps[0] == gaps[1]
        assert target.read(ADA, "s", Read()).tip == source.read(ADA, "s", Read()).tip
