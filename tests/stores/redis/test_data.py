"""Data at positions on Redis: what it costs, what is left of it, and what damage is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis
from servers.redis_watch import Watch

from sapwood.errors import StoreCorruptError
from sapwood.model import NewSession
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ADA, fork_of, say

from ..derived import data_of, furnish_data
from .acts import key_of
from .between import before

Open = Callable[..., RedisStore]
ONE, TWO = {"n": 1}, {"n": 2}


class TestDataCosts:
    def test_an_append_with_data_is_one_call(self, store: RedisStore, watch: Watch) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        at = store.append(ADA, "s", [], data=ONE, id="k").data_at
        for batch, options in (
            ([say("m2")], {"data": TWO, "expected_data": at}),
            ([], {"data": ONE}),
            ([say("m3")], {"expected_tip": "m2"}),
            ([say("m4")], {"parent": "k"}),
        ):
            calls = watch.calls(lambda it=batch, at=options: store.append(ADA, "s", it, **at))
            assert calls == ["EVALSHA"]

    def test_rule_03_an_append_does_the_same_whatever_data_there_is(
        self, store: RedisStore, watch: Watch
    ) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m0")], data=ONE)
        work, read = [], []
        for n in (1, 300):
            for _ in range(n):
                store.append(ADA, "s", [], data=TWO)
            work.append(watch.inside(lambda: store.append(ADA, "s", [say(None)], data=ONE)))
            record = store.find_session(ADA, "s")
            assert record is not None
            read.append(watch.inside(lambda at=record.data_at: store.read_data(ADA, "s", at)))
        assert work[0] == work[1]
        assert read[0] == read[1]

    def test_data_is_read_with_one_call(self, store: RedisStore, watch: Watch) -> None:
        furnish_data(store)
        record = store.find_session(ADA, "s")
        assert record is not None
        at = record.tip_position
        store.list_data(ADA, "s", at)  # the first time, the server is given the script
        assert watch.calls(lambda: store.list_data(ADA, "s", at)) == ["EVALSHA"]
        assert watch.calls(lambda: store.find_session(ADA, "s")) == ["HGETALL"]


def test_nothing_is_left_of_data_that_was_retired(
    store: RedisStore, raw: Redis, prefix: str
) -> None:
    furnish_data(store)
    key = key_of(raw, prefix, "s", "")
    assert raw.hgetall(f"{key}dm") == {b"1": b"1", b"3": b"1"}
    store.clear_session(ADA, "s")
    store.finish_deletions()
    # The fork stands on the mark.
    assert raw.hkeys(f"{key}d:1") == [b"2", b"3"]
    assert not raw.exists(f"{key}d:2")
    store.delete_session(ADA, "fork")
    store.finish_deletions()
    assert not raw.exists(f"{key}d:1", f"{key}d:3", f"{key}dm")
    assert store.admin.check() == []


def test_what_is_erased_of_data_is_nowhere(store: RedisStore, raw: Redis, prefix: str) -> None:
    store.create_session(ADA, NewSession(id="s"))
    for n in range(3):
        store.append(ADA, "s", [], data={"n": n, "secret": f"hidden {n}"})
    store.create_session(ADA, fork_of("s", id="copy", detach=True))
    assert [store.erase_data(ADA, it, "secret") for it in ("s", "copy")] == [3, 3]
    kept = [raw.dump(key) or b"" for key in raw.scan_iter(f"{prefix}*:d:*")]
    assert len(kept) == 2
    assert not any(b"hidden" in it for it in kept)


def test_marks_of_a_home_that_is_gone_are_not_counted(store: RedisStore) -> None:
    furnish_data(store)
    store.delete_session(ADA, "s")
    assert store.statistics(ADA).messages == 2
    store.finish_deletions()
    assert store.statistics(ADA).messages == 2


def test_data_that_is_kept_at_a_clear_may_be_swept_by_others_meanwhile(open_store: Open) -> None:
    one, other = open_store(), open_store()
    one.create_session(ADA, NewSession(id="s"))
    one.append(ADA, "s", [say("m1")], data=ONE)

    def act() -> None:
        other.clear_session(ADA, "s")
        other.finish_deletions()
        other.append(ADA, "s", [], data=TWO)

    assert before(one, "HMGET 1", act) == []
    kept = one.clear_session(ADA, "s", keep_data=True)
    assert kept.data_at is not None
    found = one.read_data(ADA, "s", kept.data_at)
    assert found is not None
    assert found.value == TWO


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda raw, key: raw.hset(key("d:1"), "3", b'1 1\n{"n":2}'), "data"),
        (lambda raw, key: raw.hset(key("s:s"), "da", "1 2"), "data"),
        (lambda raw, key: raw.hdel(key("s:fork"), "da"), "data"),
        (lambda raw, key: raw.hset(key("dm"), "1", 7), "marks"),
        (lambda raw, key: raw.delete(key("dm")), "marks"),
        (lambda raw, key: _say_elsewhere(raw, key("b:1"), 3, b"1 2"), "data"),
        (lambda raw, key: _say_elsewhere(raw, key("b:1"), 2, b"1 2"), "data"),
    ],
)
def test_damage_to_where_data_stands_is_found_and_repaired(
    store: RedisStore, raw: Redis, prefix: str, damage: Any, kind: str
) -> None:
    furnish_data(store)
    expected = data_of(store)
    assert store.admin.check() == []
    damage(raw, lambda part: key_of(raw, prefix, "s", part))
    assert {it.kind for it in store.admin.check()} == {kind}
    assert store.admin.repair() == []
    assert data_of(store) == expected


def _say_elsewhere(raw: Redis, key: str, index: int, place: bytes) -> None:
    """Let an entry say that its data stands elsewhere."""
    entry = raw.lindex(key, index)
    assert isinstance(entry, bytes)
    head, _, body = entry.partition(b"\n")
    fields = head.split(b"\x1f")
    fields[3] = fields[3].partition(b" ")[0] + b" " + place
    raw.lset(key, index, b"\x1f".join(fields) + b"\n" + body)


@pytest.mark.parametrize("lost", ["version", "value"])
def test_rule_08_data_that_is_lost_is_told_and_not_repaired(
    store: RedisStore, raw: Redis, prefix: str, lost: str
) -> None:
    furnish_data(store)
    key = key_of(raw, prefix, "s", "d:1")
    if lost == "version":
        raw.hdel(key, "3")
    else:
        raw.hset(key, "3", b"1 2\nx")
    record = store.find_session(ADA, "s")
    assert record is not None
    assert record.data_at is not None
    for call in (
        lambda at=record.data_at: store.read_data(ADA, "s", at),
        lambda: store.append(ADA, "s", [], data={"n": 9}, id="k"),
    ):
        with pytest.raises(StoreCorruptError):
            call()
    assert [(it.kind, it.where) for it in store.admin.repair()] == [("data", "1.3")]
