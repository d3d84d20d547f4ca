"""What is exported and imported is the same afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model import (
    ROOT,
    Edge,
    EdgeKind,
    FilePart,
    ForkPoint,
    NewMessage,
    NewSession,
    OtherPart,
    TextPart,
    ToolCallPart,
    Usage,
)
from sapwood.store import Store
from sapwood.testing.makers import ADA, cover, fork_of, say

from .random_changes import OPS, act
from .worlds import export, lines_of, load, memory, names_in, seen_of, sqlite


def grown(ops: list[tuple[str, int, int, int]], store: Store) -> None:
    new = NewSession(
        id="s",
        title="A title",
        tags=["x"],
        attributes={"n": 2**70},
        model="large",
        source="cli",
        end_reason="completed",
    )
    store.create_session(ADA, new)
    store.append(ADA, "s", [say("r1"), say("r2"), say("r3")])
    for number, op in enumerate(ops):
        act(store, number, op)
    store.finish_deletions()


@given(st.lists(OPS, max_size=30))
def test_whatever_was_done_to_a_store_is_the_same_in_another(ops: list[Any]) -> None:
    with memory() as source, memory() as target:
        grown(ops, source)
        data = export(source)
        done = load(target, data)
        assert names_in(target) == names_in(source)
        renamed = [it for it in done.notes if "got another id" in it]
        for name in names_in(source):
            before, after = seen_of(source, name), seen_of(target, name)
            if renamed:
                del before["overlays"], after["overlays"]
            assert after == before, name
        assert target.admin.check() == []
        again = load(target, data)
        assert (again.written, again.created) == (0, [])
        assert again.skipped == len(lines_of(data, "message"))


@given(st.lists(OPS, max_size=20))
def test_an_import_is_exported_as_it_came(ops: list[Any]) -> None:
    with memory() as source, memory() as target, memory() as third:
        grown(ops, source)
        load(target, export(source))
        data = export(target)
        load(third, data)
        assert lasting(export(third)) == lasting(data)


def lasting(data: bytes) -> list[dict[str, Any]]:
    """Leave out what a store decides by itself."""
    volatile = {"version", "active_us", "created_by"}
    return sorted(
        (
            {
                key: value
                for key, value in line.items()
                if key not in volatile and (key, line["kind"]) != ("created_us", "overlay")
            }
            for line in lines_of(data)
        ),
        key=str,
    )


def test_every_field_of_a_message_arrives(tmp_path: Path) -> None:
    parts = [
        TextPart(text="hé\x1b\u2028", extra={"cache": {"n": 2**80, "x": [1.5, None]}}),
        ToolCallPart(call_id="c", name="f", input={"a": [True, "b"]}),
        FilePart(media_type="image/png", data=bytes(range(256))),
        FilePart(media_type="text/plain", uri="file:///x", extra={"name": None}),
        OtherPart(value={"type": "text", "text": "not ours"}),
    ]
    message = NewMessage(
        id="m1",
        role="critic",
        parts=[*parts],
        metadata={"big": -(2**70)},
        tokens=3,
        created_us=5,
        extra={"turn": "t"},
        name="Ann",
    )
    with sqlite(tmp_path / "a.db") as source, sqlite(tmp_path / "b.db") as target:
        source.create_session(ADA, NewSession(id="s", created_us=4))
        source.append(ADA, "s", [message])
        load(target, export(source))
        [before], [after] = (it.find_messages(ADA, "s", ["m1"]) for it in (source, target))
        assert before == after
        record = target.find_session(ADA, "s")
        assert record is not None
        assert record.created_us == 4


def test_a_fork_is_a_fork_again_when_its_source_is_there_too() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2")])
        source.create_session(ADA, fork_of("s", "m1", id="f"))
        source.append(ADA, "f", [say("f1")])
        load(target, export(source))
        [message] = target.find_messages(ADA, "f", ["m1"])
        assert message is not None
        assert message.home == "s"
        record = target.find_session(ADA, "f")
        assert record is not None
        assert (record.messages, record.parent) == (1, Edge(kind=EdgeKind.BRANCH, session="s"))


def test_without_its_source_a_fork_takes_the_path_along() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2")])
        source.create_session(ADA, fork_of("s", "m1", id="f"))
        source.append(ADA, "f", [say("f1")])
        done = load(target, export(source, "f"))
        assert seen_of(target, "f") == seen_of(source, "f")
        record = target.find_session(ADA, "f")
        assert record is not None
        assert (record.messages, record.parent) == (2, None)
        assert "which is not here" in done.notes[0]


def test_a_fork_whose_point_was_deleted_goes_on_from_there() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        source.create_session(ADA, fork_of("s", "m3", id="f"))
        source.append(ADA, "f", [say("own2"), say("own3"), say("own4")], parent="m1")
        source.append(ADA, "f", [say("f4")], parent="m3")
        source.delete_messages(ADA, "s", ["m3"])
        data = export(source)
        [_, fork] = lines_of(data, "session")
        assert fork["fork"] == {"session": "s", "message": "m3"}
        load(target, data)
        assert seen_of(target, "f") == seen_of(source, "f")


def test_a_fork_comes_after_its_source_whatever_the_order_asked_for() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1")])
        source.create_session(ADA, fork_of("s", "m1", id="f"))
        source.create_session(ADA, fork_of("f", "m1", id="g"))
        data = export(source, "g", "f", "s")
        assert [line["id"] for line in lines_of(data, "session")] == ["s", "f", "g"]
        load(target, data)
        assert names_in(target) == ["f", "g", "s"]


def test_what_a_fork_undid_or_its_source_added_later_stays_so() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say(f"m{n}") for n in range(1, 7)])
        source.add_overlay(ADA, "s", cover("m1", "m2", id="both"))
        source.add_overlay(ADA, "s", cover("m4", "m5", id="undone"))
        source.put_document(ADA, "k", b"s", session="s")
        source.create_session(ADA, fork_of("s", "m6", id="f"))
        source.undo_overlay(ADA, "f", "undone")
        source.delete_document(ADA, "k", session="f")
        source.add_overlay(ADA, "s", cover("m3", "m3", id="later"))
        source.undo_overlay(ADA, "s", "both")
        load(target, export(source))
        for name in ("s", "f"):
            assert seen_of(target, name) == seen_of(source, name)


def test_an_overlay_that_two_forks_share_and_their_source_undid_gets_another_id_in_one() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2")])
        source.add_overlay(ADA, "s", cover("m1", "m2", id="o"))
        for name in ("f", "g"):
            source.create_session(ADA, fork_of("s", "m2", id=name))
        source.undo_overlay(ADA, "s", "o")
        data = export(source)
        done = load(target, data)
        assert [it for it in done.notes if "another id" in it]
        for name in ("s", "f", "g"):
            assert seen_of(target, name)["shown"] == seen_of(source, name)["shown"]
        assert load(target, data).notes == []


def test_crossing_overlays_are_added_in_an_order_that_works() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say(f"m{n}") for n in range(1, 8)])
        source.add_overlay(ADA, "s", cover("m3", "m6", id="s1"))
        source.add_overlay(ADA, "s", cover("m1", "m4", id="h", leaf="m4"))
        source.add_overlay(ADA, "s", cover("m2", "<s1>", id="t"))
        source.undo_overlay(ADA, "s", "s1")
        source.add_overlay(ADA, "s", cover("m1", "m7", id="all"))
        source.add_overlay(ADA, "s", cover("<all>", "<all>", id="again"))
        done = load(target, export(source))
        assert done.notes == []
        assert seen_of(target, "s") == seen_of(source, "s")


def test_usage_arrives_as_one_call_for_each_model_and_once() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        for n in range(3):
            source.add_usage(ADA, "s", Usage(id=f"u{n}", model="m", input_tokens=5))
        data = export(source)
        load(target, data)
        load(target, data)
        [total] = target.total_usage(ADA, "s")
        assert (total.model, total.calls, total.input_tokens) == ("m", 1, 15)


def test_leases_stay_and_an_owners_documents_go_with_all_sessions() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.put_document(ADA, "lease", b"x", session="s", expires_in_s=60)
        source.put_document(ADA, "k", b"mine")
        load(target, export(source, "s"))
        assert target.list_documents(ADA) == []
        load(target, export(source))
        assert [it.value for it in target.list_documents(ADA)] == [b"mine"]
        assert target.list_documents(ADA, session="s") == []


def test_a_deleted_tip_is_still_the_tip() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        source.delete_messages(ADA, "s", ["m2", "m3"])
        load(target, export(source))
        record = target.find_session(ADA, "s")
        assert record is not None
        assert record.tip == "m3"


def test_sessions_that_name_each_other_as_parents_are_carried_without_an_end() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="a"))
        source.create_session(
            ADA, NewSession(id="b", parent=Edge(kind=EdgeKind.CONTINUE, session="a"))
        )
        source.delete_session(ADA, "a")
        source.create_session(
            ADA, NewSession(id="a", parent=Edge(kind=EdgeKind.RESET, session="b"))
        )
        done = load(target, export(source))
        assert names_in(target) == ["a", "b"]
        assert len(done.notes) == 1


@pytest.mark.parametrize("branches", [40])
def test_each_message_of_many_branches_comes_once(branches: int) -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say(f"m{n}") for n in range(300)])
        for n in range(branches):
            source.append(ADA, "s", [say(f"b{n}.{i}") for i in range(100)], parent=f"m{n * 5}")
        data = export(source)
        ids = [line["id"] for line in lines_of(data, "message")]
        assert len(ids) == len(set(ids)) == 300 + 100 * branches
        load(target, data)
        assert seen_of(target, "s")["messages"] == seen_of(source, "s")["messages"]


def test_a_fork_point_may_be_given_with_a_fork_of_the_root() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s"))
        source.append(ADA, "s", [say("m1")])
        point = ForkPoint(session="s", message=ROOT)
        source.create_session(ADA, NewSession(id="f", fork=point))
        source.append(ADA, "f", [say("m1", "another")])
        load(target, export(source))
        assert seen_of(target, "f") == seen_of(source, "f")
