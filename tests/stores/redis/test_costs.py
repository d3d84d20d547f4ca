"""What calls of a Redis store cost, counted by the server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from servers.redis_watch import Watch

from sapwood.model import NewSession, Read
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ADA, fork_of, ids_told, say

from .acts import furnish


class TestCosts:
    def test_an_append_is_one_call_where_the_tree_is_known_and_two_where_not(
        self, open_store: Callable[..., RedisStore], watch: Watch
    ) -> None:
        first, other = open_store(), open_store()
        first.create_session(ADA, NewSession(id="s"))
        first.append(ADA, "s", [say("m1")])
        other.find_session(ADA, "nobody")
        for store, calls in ((first, ["EVALSHA"]), (other, ["HGET", "EVALSHA"])):
            assert watch.calls(lambda it=store: it.append(ADA, "s", [say(None)])) == calls
        branch = [say("m2"), say("m3")]
        for batch, where in ((branch, {"parent": "m1"}), ([say("m4")], {"expected_tip": "m3"})):
            calls = watch.calls(lambda it=batch, at=where: first.append(ADA, "s", it, **at))
            assert calls == ["EVALSHA"]

    def test_a_path_is_read_with_one_call(self, store: RedisStore, watch: Watch) -> None:
        furnish(store)
        for query, calls in (
            (Read(overlays=False), ["EVALSHA", "LRANGE", "HGET"]),
            (Read(limit=2), ["EVALSHA"]),
        ):
            store.read(ADA, "s", query)  # the first time, the server is given the script
            with watch.trips(store._runner.here()._client) as trips:
                assert watch.calls(lambda it=query: store.read(ADA, "s", it)) == calls
            assert trips == ["at once"]
        store.find_session(ADA, "fork")  # after an edit its sum is worked out, and kept
        assert watch.calls(lambda: store.find_session(ADA, "fork")) == ["HGETALL"]

    def test_rule_03_an_append_does_the_same_however_long_the_history(
        self, store: RedisStore, watch: Watch
    ) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m0")])
        work = [watch.inside(lambda: store.append(ADA, "s", [say(None)]))]
        for n in range(4):
            store.append(ADA, "s", [say(f"b{n}-{k}") for k in range(500)])
        for n in range(20):
            store.append(ADA, "s", [say(f"x{n}")], parent="b0-3")
        store.checkout(ADA, "s", "b3-499")
        work.append(watch.inside(lambda: store.append(ADA, "s", [say(None)])))
        assert work[0] == work[1]

    def test_rule_04_the_last_few_are_a_range(self, store: RedisStore, watch: Watch) -> None:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(4):
            store.append(ADA, "s", [say(f"b{n}-{k}") for k in range(500)])
        last = Read(limit=50, backwards=True)
        commands = watch.inside(lambda: store.read(ADA, "s", last), with_args=True)
        ranges = [it for it in commands if it[0] == "LRANGE"]
        assert [int(it[3]) - int(it[2]) + 1 for it in ranges] == [51]
        assert len(store.read(ADA, "s", last).entries) == 50

    def test_rule_04_the_ends_of_a_page_are_two_trips_and_a_range_of_each_list(
        self, store: RedisStore, watch: Watch
    ) -> None:
        for n in range(10):
            store.create_session(ADA, NewSession(id=f"s{n}"))
            store.append(ADA, f"s{n}", [say(f"m{k}") for k in range(500)])
        names = [f"s{n}" for n in range(10)]
        store.find_recent(ADA, names)  # the first time, the server is given the script
        with watch.trips(store._runner.here()._client) as trips:
            calls = watch.calls(lambda: store.find_recent(ADA, names))
        assert (trips, calls) == (["at once"] * 2, ["HMGET", *["EVALSHA"] * 10])
        commands = watch.inside(lambda: store.find_recent(ADA, names), with_args=True)
        ranges = [int(it[3]) - int(it[2]) + 1 for it in commands if it[0] == "LRANGE"]
        assert sum(ranges) == 10 * 32

    def test_a_fork_copies_nothing(self, store: RedisStore, watch: Watch, prefix: str) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say(f"m{n}") for n in range(300)])
        commands = watch.inside(lambda: store.create_session(ADA, fork_of("s", "m150")))
        # That it is there is told; nothing is copied.
        assert commands.count("RPUSH") == 1
        assert "LRANGE" not in commands


def test_what_a_store_remembers_of_trees_does_not_grow_for_ever(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store._runner.here()._context.marks, "_most", 3)
    for n in range(10):
        store.create_session(ADA, NewSession(id=f"s{n}"))
        store.append(ADA, f"s{n}", [say("m1")])
        store.put_document(ADA, "k", b"", session=f"s{n}")
        assert len(store._runner.here()._context.marks) <= 3
    assert ids_told(store.changes(ADA)) == ["m1"] * 10
