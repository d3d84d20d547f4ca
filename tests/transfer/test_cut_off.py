"""An import that is killed at any call, or has company, ends as one that had neither."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sapwood.errors import MessageConflictError
from sapwood.model import NewSession, Read, SessionPatch, Usage
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import import_file
from sapwood.transfer.lines import CHUNK

from .worlds import export, lines_of, load, memory, names_in, new_ids, seen_of


class KilledError(BaseException):
    """The process is gone: no handler of it runs any more."""


class Watched(MemoryStore):
    """Calls somebody before each write of an import or a copy."""

    before: Callable[[str], None] = staticmethod(lambda name: None)


def _watched(name: str) -> Any:
    def call(self: Watched, *args: Any, **options: Any) -> Any:
        self.before(name)
        return getattr(MemoryStore, name)(self, *args, **options)

    return call


WRITES = (
    "create_session",
    "append",
    "checkout",
    "put_document",
    "delete_document",
    "add_overlay",
    "undo_overlay",
    "add_usage",
    "delete_session",
    "update_session",
    "update_message",
    "delete_messages",
)
for _name in WRITES:
    setattr(Watched, _name, _watched(_name))


def watched() -> Watched:
    return Watched(clock=ManualClock(), new_id=new_ids())


def kill_after(store: Watched, writes: int) -> None:
    left = writes

    def before(name: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KilledError

    store.before = before  # type: ignore[method-assign]


def revive(store: Watched) -> None:
    store.before = lambda name: None  # type: ignore[method-assign]


def furnished() -> Store:
    """Give a session with branches, a fork that undid what it inherited, and usage."""
    store = memory()
    store.create_session(ADA, NewSession(id="s", created_us=5))
    store.append(ADA, "s", [say(f"m{n}") for n in range(1, 7)])
    store.append(ADA, "s", [say("x4")], parent="m3")
    store.add_overlay(ADA, "s", cover("m1", "m2", id="both"))
    store.put_document(ADA, "k", b"s", session="s")
    store.checkout(ADA, "s", "m5")
    for model in ("a", "b", "c"):
        store.add_usage(ADA, "s", Usage(id=model, model=model, input_tokens=3))
    store.create_session(ADA, fork_of("s", "m3", id="f"))
    store.undo_overlay(ADA, "f", "both")
    store.put_document(ADA, "k", b"f", session="f")
    store.put_document(ADA, "late", b"s", session="s")
    store.append(ADA, "f", [say("f4"), say("f5")])
    store.checkout(ADA, "f", "m2")
    return store


def all_of(store: Store) -> Any:
    totals = {
        name: [(it.model, it.input_tokens) for it in store.total_usage(ADA, name)]
        for name in names_in(store)
    }
    return [seen_of(store, name) for name in names_in(store)], totals


@pytest.fixture
def source() -> Iterator[Store]:
    with furnished() as store:
        yield store


@pytest.mark.parametrize("writes", range(0, 44))
def test_after_a_kill_at_any_write_the_same_command_finishes(source: Store, writes: int) -> None:
    for name in ("s", "f"):
        source.update_session(ADA, name, SessionPatch(closed=True))
    data = export(source)
    with watched() as target:
        kill_after(target, writes)
        try:
            load(target, data)
        except KilledError:
            revive(target)
            load(target, data)
        revive(target)
        assert all_of(target) == all_of(source)
        assert target.list_documents(ADA) == []
        assert load(target, data).notes == []
        assert all_of(target) == all_of(source)


@pytest.mark.parametrize("writes", range(0, 12))
def test_a_session_that_went_on_has_its_tip_after_any_kill(source: Store, writes: int) -> None:
    with watched() as target:
        load(target, export(source))
        target.append(ADA, "s", [say("t1")], parent="m6")
        source.append(ADA, "s", [say("m7"), say("m8")], parent="m6")
        source.append(ADA, "s", [say("y1")], parent="m1")
        kill_after(target, writes)
        try:
            load(target, export(source))
        except KilledError:
            revive(target)
            load(target, export(source))
        revive(target)
        seen = seen_of(target, "s")
        assert seen["tip"] == "t1"
        assert {"t1", "m8", "y1"} <= seen["messages"].keys()
        assert target.list_documents(ADA) == []


def test_a_kill_forgets_nothing_that_was_said_during_the_import() -> None:
    with memory() as source, watched() as target:
        source.create_session(ADA, NewSession(id="s", created_us=5))
        source.append(ADA, "s", [say("m1"), say("m2")])
        load(target, export(source))
        target.append(ADA, "s", [say("t1")])
        source.append(ADA, "s", [say(f"n{n}") for n in range(2 * CHUNK)], parent="m2")
        data = export(source)
        checkouts = 0

        def before(what: str) -> None:
            nonlocal checkouts
            checkouts += what == "checkout"
            if checkouts > 1:
                raise KilledError

        def talk(position: int) -> None:
            if checkouts == 1 and not target.find_messages(ADA, "s", ["t2"])[0]:
                target.append(ADA, "s", [say("t2")])

        target.before = before  # type: ignore[method-assign]
        with pytest.raises(KilledError):
            import_file(target, ADA, io.BytesIO(data), talk)
        revive(target)
        assert shown(target, "s")[-1] != "t2"
        load(target, data)
        assert shown(target, "s") == ["m1", "m2", "t1", "t2"]


def shown(store: Store, session: str) -> list[str]:
    return [it.id for it in store.read(ADA, session, Read(overlays=False)).messages_only]


def test_what_an_agent_appends_meanwhile_stays_in_its_history() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s", created_us=5))
        source.append(ADA, "s", [say("m1"), say("m2")])
        load(target, export(source))
        source.append(ADA, "s", [say(f"n{n}") for n in range(3 * CHUNK)], parent="m1")
        data = export(source)
        said: list[str] = []

        def talk(position: int) -> None:
            if position > len(data):
                said.append(f"live{len(said)}")
                target.append(ADA, "s", [say(said[-1])])

        import_file(target, ADA, io.BytesIO(data), talk)
        assert len(said) > 2
        assert shown(target, "s") == ["m1", "m2", *said]


def test_what_an_agent_appends_to_a_new_session_meanwhile_stays_in_its_history() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s", created_us=5))
        source.append(ADA, "s", [say(f"m{n}") for n in range(3 * CHUNK)])
        data = export(source)

        def talk(position: int) -> None:
            if target.find_session(ADA, "s") and not target.find_messages(ADA, "s", ["live"])[0]:
                target.append(ADA, "s", [say("live")])

        import_file(target, ADA, io.BytesIO(data), talk)
        assert shown(target, "s")[-1] == "live"


def test_an_import_that_is_ended_leaves_the_tip_where_it_was(source: Store) -> None:
    with memory() as target:
        load(target, export(source))
        target.append(ADA, "s", [say("t1")], parent="m6")
        source.append(ADA, "s", [say("m7")], parent="m6")
        data = export(source)

        def stop(position: int) -> None:
            if position > len(data) + 1000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            import_file(target, ADA, io.BytesIO(data), stop)
        assert seen_of(target, "s")["tip"] == "t1"
        assert target.list_documents(ADA) == []
        assert "run again" in caught.value.__notes__[0]


def test_an_import_that_is_ended_keeps_what_others_wrote(source: Store) -> None:
    data = export(source)
    with memory() as target:

        def stop(position: int) -> None:
            if target.find_session(ADA, "s") is not None:
                target.append(ADA, "s", [say("live")])
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            import_file(target, ADA, io.BytesIO(data), stop)
        assert "run again" in caught.value.__notes__[0]
        assert "live" in seen_of(target, "s")["messages"]
        load(target, data)
        seen = seen_of(target, "s")
        assert seen["tip"] == "live"
        assert seen["messages"].keys() > seen_of(source, "s")["messages"].keys()


def test_a_document_of_others_keeps_a_session_from_being_deleted(source: Store) -> None:
    data = export(source)
    with memory() as target:

        def stop(position: int) -> None:
            if target.find_session(ADA, "s") is not None:
                target.put_document(ADA, "theirs", b"x", session="s")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            import_file(target, ADA, io.BytesIO(data), stop)
        assert names_in(target) == ["s"]


def test_a_fork_without_messages_of_its_own_gets_the_files_tip() -> None:
    with memory() as source, memory() as target:
        source.create_session(ADA, NewSession(id="s", created_us=5))
        source.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        source.create_session(ADA, fork_of("s", "m3", id="f"))
        load(target, export(source))
        source.checkout(ADA, "f", "m1")
        load(target, export(source))
        assert seen_of(target, "f")["tip"] == "m1"
        source.append(ADA, "f", [say("f4")], parent="m3")
        load(target, export(source))
        assert seen_of(target, "f")["tip"] == "f4"


@pytest.mark.parametrize("name", ["s", "f"])
def test_a_session_that_another_import_creates_meanwhile_is_gone_on_with(
    source: Store, name: str
) -> None:
    data = export(source)
    with watched() as target:
        wanted = [line["id"] for line in lines_of(data, "session")].index(name)
        made = 0

        def before(what: str) -> None:
            nonlocal made
            if what == "create_session":
                made += 1
                if made == wanted + 1:
                    revive(target)
                    load(target, data)

        target.before = before  # type: ignore[method-assign]
        done = load(target, data)
        assert all_of(target) == all_of(source)
        assert target.list_documents(ADA) == []
        assert sorted(done.created + done.existing) == ["f", "s"]


def test_a_session_that_others_create_meanwhile_is_compared(source: Store) -> None:
    with watched() as target:

        def before(what: str) -> None:
            if what == "create_session":
                revive(target)
                target.create_session(ADA, NewSession(id="s"))
                target.append(ADA, "s", [say("m1", "other")])

        target.before = before  # type: ignore[method-assign]
        with pytest.raises(MessageConflictError, match="'m1' has other content"):
            load(target, export(source))


def test_usage_of_a_model_that_is_not_there_yet_is_added(source: Store) -> None:
    with memory() as target:
        target.create_session(ADA, NewSession(id="s"))
        target.add_usage(ADA, "s", Usage(id="mine", model="a", input_tokens=100))
        load(target, export(source))
        found = {it.model: it.input_tokens for it in target.total_usage(ADA, "s")}
        assert found == {"a": 100, "b": 3, "c": 3}
