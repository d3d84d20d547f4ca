"""The end of a path that a Redis store reads by plain commands: the same as scripts would read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from servers.redis_watch import Watch

from sapwood.errors import NotFoundError
from sapwood.model import ROOT, NewSession, Read
from sapwood.stores.redis import RedisStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

PLAIN = ["HGET", "HMGET", "LRANGE", "LLEN", "HGET"]
QUERIES = [
    Read(overlays=overlays, limit=limit, backwards=limit is not None)
    for overlays in (True, False)
    for limit in (None, 1, 2, 3, 5, 50, 2**62)
]
Act = Callable[[RedisStore], Any]
ACTS: dict[str, Act] = {
    "append": lambda it: it.append(ADA, "s", [say("m7"), say("m8")]),
    "speak at the root": lambda it: it.append(ADA, "s", [say("q1"), say("q2")], parent=ROOT),
    "step where it was": lambda it: it.checkout(ADA, "s", "m8"),
    "cover the last": lambda it: it.add_overlay(ADA, "s", cover("m5", "m8", id="l")),
    "uncover the last": lambda it: it.undo_overlay(ADA, "s", "l"),
    "edit": lambda it: it.update_message(ADA, "s", say("m6", "changed", tokens=50)),
    "delete the last": lambda it: it.delete_messages(ADA, "s", ["m8"]),
    "delete one before": lambda it: it.delete_messages(ADA, "s", ["m5"]),
    "go on": lambda it: it.append(ADA, "s", [say(f"n{n}") for n in range(6)]),
    "step back": lambda it: it.checkout(ADA, "s", "n2"),
    "step forward": lambda it: it.checkout(ADA, "s", "n5"),
    "branch": lambda it: it.append(ADA, "s", [say("b1"), say("b2")], parent="m3"),
    "branch on": lambda it: it.append(ADA, "s", [say("b3"), say("b4")]),
    "cover": lambda it: it.add_overlay(ADA, "s", cover("m2", "m3", id="o")),
    "cover and go on": lambda it: it.append(ADA, "s", [say("b5")]),
    "uncover": lambda it: it.undo_overlay(ADA, "s", "o"),
    "begin anew": lambda it: it.checkout(ADA, "s", ROOT),
    "say something": lambda it: it.append(ADA, "s", [say("r1"), say("r2")]),
    "clear": lambda it: it.clear_session(ADA, "s"),
    "say it again": lambda it: it.append(ADA, "s", [say("r1"), say("r2")]),
    "delete": lambda it: it.delete_session(ADA, "s"),
    "create anew": lambda it: it.create_session(ADA, NewSession(id="s")),
    "say the first": lambda it: it.append(ADA, "s", [say("z1")]),
}


def begin(store: RedisStore, count: int = 6) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"m{n}", tokens=n) for n in range(1, count + 1)])


def read(store: RedisStore, query: Read, session: str = "s") -> Any:
    try:
        return store.read(ADA, session, query)
    except NotFoundError as error:
        return str(error)


@pytest.mark.parametrize("is_summed", [True, False])
@pytest.mark.parametrize("options", [{}, {"session_ttl_s": 100}, {"clock": ManualClock()}])
def test_what_is_read_again_is_what_another_reads_first(
    open_store: Callable[..., RedisStore], options: dict[str, Any], is_summed: bool
) -> None:
    warm = open_store(**options)
    begin(warm)
    for name, act in ACTS.items():
        act(warm)
        fresh = open_store(**options)
        if is_summed:
            fresh.find_session(ADA, "s")  # works out what it shows, and keeps that
        told = [read(fresh, query) for query in QUERIES]
        for _ in range(2):
            assert [read(warm, query) for query in QUERIES] == told, name


@pytest.mark.parametrize("limit", [None, 4])
def test_a_fork_is_read_whole_whatever_was_read_before(
    store: RedisStore, limit: int | None
) -> None:
    begin(store)
    store.create_session(ADA, fork_of("s", "m3"))
    query = Read(limit=limit, backwards=limit is not None)
    for n in range(6):
        want = ["m1", "m2", "m3", *(f"f{k}" for k in range(n))]
        for _ in range(2):
            assert shown(store.read(ADA, "fork", query)) == want[-(limit or 50) :]
        store.append(ADA, "fork", [say(f"f{n}")])


class TestCosts:
    def test_the_last_few_take_no_script_and_no_more_than_a_range(
        self, store: RedisStore, watch: Watch
    ) -> None:
        begin(store, 300)
        last = Read(limit=50, backwards=True)
        store.read(ADA, "s", last)
        store.append(ADA, "s", [say("later")])
        store.put_document(ADA, "k", b"", session="s")
        with watch.trips(store._runner.here()._client) as trips:
            seen = watch._seen(lambda: store.read(ADA, "s", last))
        assert trips == ["at once"]
        words = [it["command"].split() for it in seen if it["client_type"] != "lua"]
        assert [it[0] for it in words] == PLAIN
        assert words[2][2:] == ["-51", "-1"]

    @pytest.mark.parametrize("options", [{}, {"session_ttl_s": 100}])
    def test_a_path_without_forks_takes_no_script(
        self, open_store: Callable[..., RedisStore], watch: Watch, options: dict[str, Any]
    ) -> None:
        store = open_store(**options)
        begin(store)
        store.read(ADA, "s", Read())
        store.append(ADA, "s", [say("later")])
        time = ["TIME"] if options else []
        assert watch.calls(lambda: store.read(ADA, "s", Read())) == [*PLAIN, *time]

    def test_what_a_script_has_to_read_is_not_tried_again_without(
        self, store: RedisStore, watch: Watch
    ) -> None:
        begin(store)
        last = Read(limit=3, backwards=True)
        store.read(ADA, "s", last)
        store.delete_messages(ADA, "s", ["m5"])
        store.find_session(ADA, "s")
        store.read(ADA, "s", last)
        assert watch.calls(lambda: store.read(ADA, "s", last)) == ["EVALSHA"]

    def test_a_path_with_overlays_is_one_script_and_one_without_them_again_none(
        self, store: RedisStore, watch: Watch
    ) -> None:
        begin(store)
        store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
        store.read(ADA, "s", Read())
        assert watch.calls(lambda: store.read(ADA, "s", Read())) == ["EVALSHA"]
        store.undo_overlay(ADA, "s", "o")
        store.find_session(ADA, "s")
        store.read(ADA, "s", Read())
        assert watch.calls(lambda: store.read(ADA, "s", Read())) == PLAIN


class Between:
    """Lets something happen between two commands that a store sends together."""

    def __init__(self, store: RedisStore, act: Callable[[], Any], at: int) -> None:
        self._client = store._runner.here()._client
        self._fetch = self._client.fetch
        self._act = act
        self._at = at

    def __enter__(self) -> None:
        self._client.fetch = self._pieces  # type: ignore[method-assign]

    def __exit__(self, *details: object) -> None:
        self._client.fetch = self._fetch  # type: ignore[method-assign]

    def _pieces(self, commands: Sequence[Any]) -> list[Any]:
        self._client.fetch = self._fetch  # type: ignore[method-assign]
        first = self._fetch(commands[: self._at])
        self._act()
        return [*first, *self._fetch(commands[self._at :])]


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("name", ["append", "edit", "branch", "delete one before", "clear"])
def test_rule_04_what_happens_in_between_is_seen_whole_or_not_at_all(
    open_store: Callable[..., RedisStore], at: int, limit: int | None, name: str
) -> None:
    reader, writer = open_store(), open_store()
    begin(writer)
    query = Read(limit=limit, backwards=limit is not None)
    for _ in range(2):
        before = reader.read(ADA, "s", query)
    with Between(reader, lambda: ACTS[name](writer), at):
        found = reader.read(ADA, "s", query)
    after = open_store().read(ADA, "s", query)
    assert found in (before, after)
    assert reader.read(ADA, "s", query) == after


def test_one_that_expired_is_gone_for_those_who_read_it_before(
    open_store: Callable[..., RedisStore],
) -> None:
    clock = ManualClock()
    store = open_store(clock=clock, session_ttl_s=100)
    begin(store)
    for _ in range(2):
        assert len(store.read(ADA, "s", Read()).entries) == 6
    clock.advance(101)
    with pytest.raises(NotFoundError):
        store.read(ADA, "s", Read())
