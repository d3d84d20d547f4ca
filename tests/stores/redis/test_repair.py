"""Damage to what a Redis store has: told, and repaired where it is derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from sapwood.errors import (
    StoreCorruptError,
)
from sapwood.model import NewSession, Read, Search, SessionPatch, SessionQuery, SystemFields
from sapwood.stores.redis import RedisStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say

from ..derived import furnish_listing, listing_of
from .acts import furnish, key_of


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda raw, key: raw.hset(key("g"), "2", "1 1 1"), "lineage"),
        (lambda raw, key: raw.delete(key("c")), "parent"),
        (lambda raw, key: raw.hdel(key("i:1"), "m2"), "id"),
        (lambda raw, key: raw.delete(key("o:1")), "segment"),
        (lambda raw, key: raw.hset(key("s:s"), "m", 7), "messages"),
        (lambda raw, key: raw.hset(key("s:s"), "c", 7), "context_tokens"),
        (lambda raw, key: raw.delete(key("wr")), "overlay"),
        (lambda raw, key: raw.delete(f"{key('x').split('{')[0]}{{o:{ADA}}}:la"), "listing"),
    ],
)
def test_damage_to_what_is_derived_is_found_and_repaired(
    store: RedisStore, raw: Redis, prefix: str, damage: Any, kind: str
) -> None:
    furnish(store)
    store.append(ADA, "s", [say("y1"), say("y2")], parent="x1")
    store.checkout(ADA, "s", "m4")
    before = [store.read(ADA, session, Read()).entries for session in ("s", "fork")]
    records = [store.find_session(ADA, session) for session in ("s", "fork")]
    assert store.admin.check() == []
    if kind == "lineage":
        raw.hset(key_of(raw, prefix, "s", "g"), "4", "1 2 3")
    else:
        damage(raw, lambda part: key_of(raw, prefix, "s", part))
    assert kind in {problem.kind for problem in store.admin.check()}
    assert store.admin.repair() == []
    assert [store.read(ADA, session, Read()).entries for session in ("s", "fork")] == before
    assert [store.find_session(ADA, session) for session in ("s", "fork")] == records


def test_rule_08_a_body_that_cannot_be_decoded_is_told_and_not_repaired(
    store: RedisStore, raw: Redis, prefix: str
) -> None:
    furnish(store)
    key = key_of(raw, prefix, "s", "b:1")
    [entry] = raw.lrange(key, 3, 3)
    raw.lset(key, 3, entry.partition(b"\n")[0] + b"\nx")
    with pytest.raises(StoreCorruptError, match="m4"):
        store.read(ADA, "s", Read())
    assert [it.kind for it in store.admin.repair()] == ["message"]
    assert store.search(ADA, Search(text="m3")).hits


def test_rule_08_a_segment_that_is_gone_is_told(store: RedisStore, raw: Redis, prefix: str) -> None:
    furnish(store)
    raw.delete(key_of(raw, prefix, "s", "b:1"))
    with pytest.raises(StoreCorruptError):
        store.read(ADA, "s", Read())
    with pytest.raises(StoreCorruptError):
        store.read(ADA, "fork", Read(limit=2))
    assert store.admin.check()


def test_a_repaired_listing_is_in_the_order_of_activity(
    open_store: Callable[..., RedisStore], raw: Redis, prefix: str
) -> None:
    clock = ManualClock()
    store = open_store(clock=clock)
    for session in ("s1", "s2", "s3", "s1"):
        if session not in {it.id for it in store.list_sessions(ADA, SessionQuery()).sessions}:
            store.create_session(ADA, NewSession(id=session))
        store.append(ADA, session, [say(None)])
        clock.advance(10)
    store.finish_deletions()
    raw.delete(f"{prefix}:{{o:{ADA}}}:la", f"{prefix}:{{o:{ADA}}}:h")
    assert store.admin.repair() == []
    page = store.list_sessions(ADA, SessionQuery(order="active"))
    assert [it.id for it in page.sessions] == ["s1", "s3", "s2"]


@pytest.mark.parametrize("lost", ["lk", "ki", "both", "stale"])
def test_sessions_are_found_by_their_keys_again(
    store: RedisStore, raw: Redis, prefix: str, lost: str
) -> None:
    for id, key in (("s", ("agent", "a")), ("t", ("agent", "b")), ("plain", ())):
        store.create_session(ADA, NewSession(id=id, system=SystemFields(key=key)))
    index = {part: f"{prefix}:{{o:{ADA}}}:{part}" for part in ("lk", "ki")}
    if lost == "stale":
        raw.zadd(index["lk"], {"00ff 0000000000000099gone": 0})
        raw.hset(index["ki"], "0000000000000099gone", "00ff")
    else:
        raw.delete(*(key for part, key in index.items() if lost in (part, "both")))
    assert {it.kind for it in store.admin.check()} == {"listing"}
    assert store.admin.repair() == []
    found = store.list_sessions(ADA, SessionQuery(key=("agent",))).sessions
    assert [it.id for it in found] == ["t", "s"]
    for id in ("s", "t", "plain"):
        store.delete_session(ADA, id)
    assert not raw.exists(*index.values())


def entries_of(raw: Redis, stem: str, letter: bytes) -> list[Any]:
    """Return the words that sessions are found by, with a letter before each."""
    entries: Any = raw.zrange(f"{stem}lk", 0, -1)
    return [it for it in entries if it.startswith(letter)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw, stem: raw.zrem(f"{stem}lk", *entries_of(raw, stem, b"g")),
        lambda raw, stem: raw.zrem(f"{stem}lk", *entries_of(raw, stem, b"t")),
        lambda raw, stem: raw.zrem(f"{stem}lk", *entries_of(raw, stem, b"s")),
        lambda raw, stem: raw.zrem(f"{stem}lk", *entries_of(raw, stem, b"k")),
        lambda raw, stem: raw.zadd(f"{stem}lk", {b"g00" + entries_of(raw, stem, b"g")[0][5:]: 0}),
        lambda raw, stem: raw.delete(f"{stem}lk", f"{stem}ki"),
        lambda raw, stem: raw.hset(f"{stem}ki", "0000000000000001listed", "g00"),
        lambda raw, stem: raw.hset(f"{stem}ki", "0000000000000099gone", "g00"),
        lambda raw, stem: raw.zadd(f"{stem}la", {"0000000000000001listed": 7}),
        lambda raw, stem: raw.zadd(f"{stem}lu", {"0000000000000001listed": 7}),
        lambda raw, stem: raw.delete(f"{stem}lu"),
    ],
)
@pytest.mark.parametrize("is_marked", [True, False])
def test_rule_14_what_sessions_are_found_by_is_rebuilt_from_their_records(
    store: RedisStore, raw: Redis, prefix: str, damage: Any, is_marked: bool
) -> None:
    furnish_listing(store)
    before = listing_of(store)
    assert store.admin.check() == []
    stem = f"{prefix}:{{o:{ADA}}}:"
    if not is_marked:
        raw.delete(f"{stem}h")
    damage(raw, stem)
    assert {it.kind for it in store.admin.check()} == {"listing"}
    assert store.admin.repair() == []
    assert listing_of(store) == before
    for id in ("listed", "branch", "aside"):
        store.delete_session(ADA, id)
    assert not raw.exists(*(f"{stem}{part}" for part in ("lk", "ki", "la", "lu", "lc")))


def test_what_is_still_to_be_published_is_no_damage(store: RedisStore) -> None:
    furnish_listing(store)
    listing_of(store)
    store.append(ADA, "listed", [say("m1", created_us=1)])
    store.update_session(ADA, "listed", SessionPatch(title="B", tags=["green"], state="quiet"))
    store.create_session(ADA, NewSession(id="new", tags=["green"]))
    assert store.admin.check() == []
    found = store.list_sessions(ADA, SessionQuery(tags=["green"])).sessions
    assert [it.id for it in found] == ["new", "listed"]


def test_what_nobody_would_publish_any_more_is_told_and_published(
    store: RedisStore, raw: Redis, prefix: str
) -> None:
    furnish_listing(store)
    listing_of(store)
    store.update_session(ADA, "listed", SessionPatch(tags=["green"]))
    raw.delete(f"{prefix}:{{o:{ADA}}}:h")
    assert {it.kind for it in store.admin.check()} == {"listing"}
    assert store.admin.repair() == []
    found = store.list_sessions(ADA, SessionQuery(tags=["green"])).sessions
    assert [it.id for it in found] == ["listed"]


def test_sessions_expire_though_it_was_lost_when(
    open_store: Callable[..., RedisStore], raw: Redis, prefix: str
) -> None:
    clock = ManualClock()
    store = open_store(clock=clock, session_ttl_s=60)
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")])
    store.finish_deletions()
    raw.delete(f"{prefix}:{{o:{ADA}}}:due")
    assert [it.kind for it in store.admin.check()] == ["listing"]
    assert store.admin.repair() == []
    clock.advance(61)
    store.finish_deletions()
    assert not raw.hexists(f"{prefix}:{{o:{ADA}}}:d", "s")


def test_rule_08_what_is_damaged_is_in_no_other_owners_way(
    store: RedisStore, raw: Redis, prefix: str
) -> None:
    owners = [f"owner {n}" for n in range(12)]
    for owner in owners:
        store.create_session(owner, NewSession(id=owner))
        store.append(owner, owner, [say("m1", "secret")])
    changes = key_of(raw, prefix, owners[0], "f", owners[0])
    raw.delete(changes)
    raw.set(changes, "no list")
    for owner in owners[1:]:
        store.append(owner, owner, [say(None) for _ in range(3000)])
        store.clear_session(owner, owner)
    with pytest.raises(StoreCorruptError):
        store.finish_deletions()
    # A clear leaves to settle what is more than a few chunks.
    assert {raw.llen(key) for key in raw.scan_iter(f"{prefix}*:b:*")} == {1}
