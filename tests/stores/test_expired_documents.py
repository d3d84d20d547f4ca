"""Documents that expired are removed a day later, by `finish_deletions`, and leave nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.errors import StaleVersionError
from sapwood.model import EntryRef, Fence, NewOverlay, NewSession
from sapwood.rules.ids import IdMaker
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.stores.sqlite import SqliteStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say

DAY_S = 24 * 3_600


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def in_a_file(folder: Path, clock: ManualClock) -> SqliteStore:
    new_id = IdMaker(clock, os.urandom)
    return SqliteStore(folder / "s.db", clock=clock, new_id=new_id, durability="normal")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    if request.param == "sqlite":
        opened: Store = in_a_file(tmp_path, clock)
    else:
        opened = MemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom))
    with opened:
        opened.create_session(ADA, NewSession(id="s"))
        yield opened


def is_stored(store: Store, key: str, version: int, session: str | None) -> bool:
    """Tell whether a document is stored, expired or not: its holder may then renew it."""
    try:
        store.put_document(ADA, key, b"", session=session, expected_version=version, expires_in_s=1)
    except StaleVersionError:
        return False
    return True


@pytest.mark.parametrize("session", [None, "s"])
def test_settling_removes_what_expired_a_day_ago_and_nothing_else(
    store: Store, clock: ManualClock, session: str | None
) -> None:
    old = [
        store.put_document(ADA, f"old/{n}", b"v", session=session, expires_in_s=60)
        for n in range(250)
    ]
    clock.advance(DAY_S)
    store.finish_deletions()
    young = store.put_document(ADA, "young", b"v", session=session, expires_in_s=60)
    kept = store.put_document(ADA, "kept", b"v", session=session)
    lives = store.put_document(ADA, "lives", b"v", session=session, expires_in_s=2 * DAY_S)
    clock.advance(3_600)
    store.finish_deletions()
    assert not any(is_stored(store, it.key, it.version, session) for it in old)
    assert is_stored(store, young.key, young.version, session)
    assert store.list_documents(ADA, session=session) == sorted(
        [kept, lives, *store.list_documents(ADA, "young", session=session)],
        key=lambda it: it.key,
    )


def test_an_owner_of_whom_only_expired_documents_were_left_is_not_named(
    store: Store, clock: ManualClock
) -> None:
    store.put_document(ADA, "k", b"v", expires_in_s=60)
    store.put_document(ADA, "k", b"v", session="s", expires_in_s=60)
    store.delete_session(ADA, "s")
    clock.advance(DAY_S + 60)
    store.finish_deletions()
    assert store.admin.list_owners() == []


def test_rule_09_a_lease_that_nobody_took_is_good_for_a_while_after_it_expired(
    store: Store, clock: ManualClock
) -> None:
    store.append(ADA, "s", [say("m1"), say("m2")])
    lease = store.put_document(ADA, "lease", b"", session="s", expires_in_s=1)
    clock.advance(3_600)
    store.finish_deletions()
    ends = [EntryRef(kind="message", id=id) for id in ("m1", "m2")]
    store.add_overlay(
        ADA,
        "s",
        NewOverlay(first=ends[0], last=ends[1], summary="so far"),
        fence=Fence(key="lease", version=lease.version),
    )


@pytest.mark.parametrize("session", [None, "s"])
def test_no_file_holds_the_bytes_of_a_document_that_was_removed(
    tmp_path: Path, clock: ManualClock, session: str | None
) -> None:
    with in_a_file(tmp_path, clock) as store:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(400):
            value = f"SECRET-{n}".encode() + b"z" * (n * 37 % 400)
            store.put_document(ADA, f"k{n * 7919 % 400}", value, session=session, expires_in_s=60)
        clock.advance(DAY_S + 60)
        store.finish_deletions()
        assert not any(b"SECRET" in path.read_bytes() for path in tmp_path.iterdir())
