"""What is copied from a store to another is the same there, whatever was done to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ConflictError, MessageTooLargeError, NotFoundError, UsageError
from sapwood.model import Edge, EdgeKind, NewSession, SessionPatch, Usage
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import CopyEvent, copy_store

from .test_round_trip import OPS, act, grown, has_kept_its_ends, lasting
from .worlds import export, memory, names_in, new_ids, seen_of, sqlite


def all_of(store: Store, owner: str = ADA) -> Any:
    """Write down all that can be seen of an owner, on any store."""
    return {
        name: (
            seen_of(store, name, owner),
            store.total_usage(owner, name, by="message"),
            edge_of(store, name, owner),
        )
        for name in names_in(store, owner)
    }, {it.key: it.value for it in store.list_documents(owner) if it.expires_us is None}


def edge_of(store: Store, name: str, owner: str) -> Any:
    record = store.find_session(owner, name)
    assert record is not None
    return record.parent, record.messages


def furnished() -> MemoryStore:
    """Give a session with branches, a fork that undid what it inherited, usage and documents."""
    store = memory()
    store.create_session(ADA, NewSession(id="s", title="A title", created_us=5))
    store.append(ADA, "s", [say(f"m{n}") for n in range(1, 7)])
    store.append(ADA, "s", [say("x4")], parent="m3")
    store.add_overlay(ADA, "s", cover("m1", "m2", id="both"))
    store.put_document(ADA, "k", b"s", session="s")
    store.checkout(ADA, "s", "m5")
    for n, model in enumerate(("a", "b", "a", "a")):
        message = None if n == 3 else "m2"
        store.add_usage(ADA, "s", Usage(id=f"u{n}", model=model, message=message, input_tokens=n))
    store.create_session(ADA, fork_of("s", "m3", id="f"))
    store.undo_overlay(ADA, "f", "both")
    store.put_document(ADA, "k", b"f", session="f")
    store.put_document(ADA, "late", b"s", session="s")
    store.append(ADA, "f", [say("f4"), say("f5")])
    store.checkout(ADA, "f", "m2")
    store.put_document(ADA, "mine", b"ada's")
    store.put_document(ADA, "lease", b"x", expires_in_s=60)
    store.put_document(ADA, "lease", b"x", session="s", expires_in_s=60)
    return store


def statuses(source: Store, target: Store, **options: Any) -> dict[str | None, str]:
    found: dict[str | None, str] = {}

    def note(event: CopyEvent) -> None:
        name = type(event).__name__
        if name in ("SessionCopied", "CopyFailed"):
            found[event.session] = getattr(event, "status", "failed")  # type: ignore[union-attr]

    try:
        copy_store(source, target, on_event=note, **options)
    except (ConflictError, UsageError):
        assert "failed" in found.values()
    return found


@given(st.lists(OPS, max_size=30))
def test_whatever_was_done_to_a_store_is_the_same_in_another(ops: list[Any]) -> None:
    with memory() as source, memory() as target:
        grown(ops, source)
        notes: list[str] = []
        copy_store(source, target, on_event=lambda it: notes.extend(getattr(it, "notes", [])))
        assert names_in(target) == names_in(source)
        lost = [it for it in notes if "overlay" in it]
        for name in names_in(source):
            before, after = seen_of(source, name), seen_of(target, name)
            if lost or not has_kept_its_ends(source, name):
                for part in (before, after):
                    del part["overlays"], part["shown"]
            assert after == before, name
        assert target.admin.check() == []
        cursor = target.changes(ADA).cursor
        again = copy_store(source, target)
        assert (again.written, again.copied, again.failed) == (0, 0, 0)
        assert lost or again.equal == len(names_in(source))
        assert lost or target.changes(ADA).cursor == cursor


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
            if name is None or status in ("failed", "gone"):
                continue
            before, after = seen_of(source, name), seen_of(target, name)
            if not has_kept_its_ends(source, name) or lost_overlays(source, target, name):
                for part in (before, after):
                    del part["overlays"], part["shown"]
            assert after == before, name
        if not {kind for kind, *_ in since} & {"clear", "remove", "delete"}:
            assert "failed" not in found.values()


def lost_overlays(source: Store, target: Store, name: str) -> bool:
    there = {it.id for it in target.list_overlays(ADA, name)}
    return not there >= {it.id for it in source.list_overlays(ADA, name)}


def test_from_sqlite_over_memory_to_sqlite_nothing_is_lost(tmp_path: Path) -> None:
    with sqlite(tmp_path / "a.db") as a, sqlite(tmp_path / "b.db") as b, memory() as between:
        with furnished() as first:
            copy_store(first, a)
        copy_store(a, between)
        copy_store(between, b)
        assert lasting(export(a)) == lasting(export(b))
        assert all_of(a) == all_of(between) == all_of(b)
        assert b.admin.check() == []
