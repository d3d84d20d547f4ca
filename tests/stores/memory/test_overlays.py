"""A walk through overlays and pins in the memory store."""

from __future__ import annotations

import pytest

from sapwood.errors import (
    ConflictError,
    LeaseLostError,
    NotFoundError,
    StoreCorruptError,
    UsageError,
)
from sapwood.model import EntryRef, Fence, NewOverlay, Read
from sapwood.stores.memory import MemoryStore

from .acts import OWNER, append, context, cover, fork, new, shown


def test_overlays_nest_and_are_undone_one_by_one(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4 m5 m6")
    cover(store, "m2", "m3", id="inner")
    assert context(store) == 43
    cover(store, "overlay:inner", "m5", id="outer")
    assert shown(store) == "m1 [outer] m6"
    assert store.list_overlays(OWNER, "a")[1].covered_tokens == 23
    fork(store, "b", "m6")
    with pytest.raises(ConflictError):
        cover(store, "m2", "m6")
    with pytest.raises(ConflictError):
        cover(store, "overlay:inner", "m6")
    store.undo_overlay(OWNER, "a", "outer")
    assert shown(store) == "m1 [inner] m4 m5 m6"
    assert shown(store, "b") == "m1 [outer] m6"
    assert store.delete_messages(OWNER, "a", ["m3"]).quoting_overlays == ["inner", "outer"]
    store.undo_overlay(OWNER, "b", "outer")
    store.undo_overlay(OWNER, "b", "inner")
    assert shown(store, "b") == "m1 m2 m4 m5 m6"
    with pytest.raises(NotFoundError):
        store.undo_overlay(OWNER, "b", "inner")


def test_an_overlay_across_segments_shows_on_every_branch_below_it(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    append(store, "n3 n4", parent="m2")
    cover(store, "m2", "n3", id="o")
    assert shown(store) == "m1 [o] n4"
    assert shown(store, leaf="m3") == "m1 m2 m3"
    append(store, "p4", parent="n3")
    assert shown(store) == "m1 [o] p4"
    assert context(store) == 23


def test_an_overlay_is_refused_after_an_edit_and_without_its_lease(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    snapshot = store.read(OWNER, "a", Read()).snapshot
    store.update_message(OWNER, "a", new("m3", "edited"))
    cover(store, "m1", "m2", id="o", snapshot=snapshot)
    with pytest.raises(ConflictError):
        cover(store, "overlay:o", "m3", snapshot=snapshot)
    lease = store.put_document(OWNER, "lease", b"", session="a", expires_in_s=0.000001)
    over = NewOverlay(first=EntryRef.of("m3"), last=EntryRef.of("m3"), summary="s", id="p")
    with pytest.raises(LeaseLostError):
        store.add_overlay(OWNER, "a", over, fence=Fence(key="lease", version=lease.version + 1))
    store.add_overlay(OWNER, "a", over, fence=Fence(key="lease", version=lease.version))


def test_pins_are_shown_with_the_summary_that_covers_them(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4")
    cover(store, "m1", "m3", id="o")
    store.put_document(OWNER, "pins", b'["m3", "m4", "m1", "unknown"]', session="a")
    assert shown(store) == "[o+m1+m3] m4"
    assert context(store) == 33
    store.delete_messages(OWNER, "a", ["m1"])
    assert context(store) == 23
    store.put_document(OWNER, "pins", b"{}", session="a")
    with pytest.raises(StoreCorruptError):
        shown(store)
    assert shown(store, overlays=False) == "m2 m3 m4"
    store.delete_document(OWNER, "pins", session="a")
    assert context(store) == 13


def test_a_snapshot_that_is_none_is_refused(store: MemoryStore) -> None:
    append(store, "m1 m2")
    for snapshot in ("x", "-1", "9" * 5_000):
        with pytest.raises(UsageError, match="is not a history's snapshot"):
            cover(store, "m1", "m2", snapshot=snapshot)
