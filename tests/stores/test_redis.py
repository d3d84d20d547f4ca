"""What the Redis store has of its own: keys and slots, clients, set-up, expiry, repair."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from servers import redis
from servers.redis import RedisServer
from servers.redis_watch import Watch

import sapwood
from sapwood.errors import (
    MigrationNeededError,
    NotFoundError,
    SchemaTooNewError,
    StaleVersionError,
    StoreCorruptError,
    StoreError,
    UsageError,
)
from sapwood.model import ChangeKind, NewMessage, NewSession, Read, Search, SessionQuery, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


@pytest.fixture
def prefix(redis_url: str) -> str:
    redis.empty()
    return redis.prefix()


@pytest.fixture
def open_store(redis_url: str, prefix: str) -> Iterator[Callable[..., RedisStore]]:
    stores: list[RedisStore] = []

    def open_store(**options: Any) -> RedisStore:
        stores.append(RedisStore(redis_url, prefix=prefix, new_id=new_id, **options))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., RedisStore]) -> RedisStore:
    return open_store()


@pytest.fixture
def raw(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def watch(redis_url: str) -> Iterator[Watch]:
    with Watch(redis_url) as watch:
        yield watch


def key_of(raw: Redis, prefix: str, session: str, part: str, owner: str = ADA) -> str:
    """Name a key of a session's tree."""
    value = raw.hget(f"{prefix}:{{o:{owner}}}:d", session)
    assert isinstance(value, bytes)
    return f"{prefix}:{{{value.split()[0].decode()}}}:{part}"


def furnish(store: RedisStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    for id in ("m1", "m2", "m3", "m4"):
        store.append(ADA, "s", [say(id, tokens=2)])
    store.append(ADA, "s", [say("x1"), say("x2")], parent="m2")
    store.create_session(ADA, fork_of("s", "m3"))
    store.append(ADA, "fork", [say("f1")])
    store.update_message(ADA, "s", say("m1", "changed", tokens=50))
    store.checkout(ADA, "s", "m4")
    store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
    store.settle()


class TestOpening:
    def test_sessions_open_by_url(self, redis_url: str, prefix: str) -> None:
        url = f"{redis_url}?prefix={prefix}&client_name=a-test"
        with sapwood.open(url, owner="ada") as sessions:
            chat = sessions.session("chat", title="with a \0 in it")
            chat.append("user", "Where is my order?")
            assert [it.text for it in chat.history().messages] == ["Where is my order?"]
            assert sessions.store.find_session("ada", "chat").title == "with a \0 in it"
            with pytest.raises(UsageError, match="the server's"):
                sapwood.open(url, durability="normal")

    async def test_the_async_twin_opens_by_url(self, redis_url: str, prefix: str) -> None:
        async with sapwood.open_async(f"{redis_url}?prefix={prefix}", owner="ada") as sessions:
            chat = await sessions.session("chat")
            message = await chat.append("user", "hello")
            assert abs(message.created_us - time.time_ns() // 1000) < 60_000_000

    @pytest.mark.parametrize(
        "url",
        [
            "redis://ada:s3cret@host:port",
            "redis://ada:s3cret@host/?socket_timeout=x",
            "http://ada:s3cret@host",
            "s3cret",
        ],
    )
    def test_rule_15_a_url_that_is_none_is_refused_without_its_password(self, url: str) -> None:
        with pytest.raises(UsageError) as wrong:
            RedisStore(url, new_id=new_id)
        assert "s3cret" not in str(wrong.value)
        assert wrong.value.__suppress_context__ or wrong.value.__context__ is None

    @pytest.mark.parametrize("prefix", ["", "a{b", "a b", "x" * 65, "é", "a*"])
    def test_rule_15_a_prefix_that_would_move_slots_is_refused(self, prefix: str) -> None:
        with pytest.raises(UsageError) as wrong:
            RedisStore("redis://host", new_id=new_id, prefix=prefix)
        assert wrong.value.path == "prefix"

    def test_rule_15_a_time_to_live_that_is_none_is_refused(self) -> None:
        for seconds in (0, -1, float("nan"), float("inf"), True, "1"):
            with pytest.raises(UsageError):
                RedisStore("redis://host", new_id=new_id, session_ttl_s=seconds)
        with pytest.raises(UsageError, match="ttl"):
            sapwood.open("redis://host?ttl=soon")

    def test_a_store_takes_a_url_or_a_client(self) -> None:
        with pytest.raises(UsageError):
            RedisStore(new_id=new_id)
        with pytest.raises(UsageError, match=r"redis\.Redis"):
            RedisStore(client=AsyncRedis(), new_id=new_id)
        with pytest.raises(UsageError, match=r"redis\.asyncio"):
            AsyncRedisStore(client=Redis(), new_id=new_id)

    def test_a_client_is_used_and_left_open(self, raw: Redis, prefix: str) -> None:
        with RedisStore(client=raw, prefix=prefix, new_id=new_id) as store:
            furnish(store)
        assert raw.ping()
        with RedisStore(client=raw, prefix=prefix, new_id=new_id) as store:
            assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]

    async def test_the_async_twin_leaves_a_client_open(self, redis_url: str, prefix: str) -> None:
        async with AsyncRedis.from_url(redis_url) as client:
            async with AsyncRedisStore(client=client, prefix=prefix, new_id=new_id) as store:
                await store.create_session(ADA, NewSession(id="s"))
                assert (await store.append(ADA, "s", [say("m1")])).written == 1
            assert await client.ping()

    def test_a_client_that_decodes_is_refused(self, redis_url: str) -> None:
        with pytest.raises(UsageError, match="decode_responses"):
            RedisStore(client=Redis.from_url(redis_url, decode_responses=True), new_id=new_id)

    def test_a_client_of_the_older_protocol_is_as_good(self, redis_url: str, prefix: str) -> None:
        with Redis.from_url(redis_url, protocol=2) as client:
            store = RedisStore(client=client, prefix=prefix, new_id=new_id)
            furnish(store)
            assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
            listed = store.list_sessions(ADA, SessionQuery()).sessions
            assert {it.id for it in listed} == {"s", "fork"}
            assert store.admin.check() == []


class TestSetUp:
    def test_nothing_is_set_up_where_that_is_not_wanted(
        self, open_store: Callable[..., RedisStore]
    ) -> None:
        store = open_store(auto_migrate=False)
        with pytest.raises(MigrationNeededError):
            store.find_session(ADA, "s")
        assert store.admin.migrate() == 1
        assert store.find_session(ADA, "s") is None

    def test_what_a_newer_version_wrote_is_refused_and_not_touched(
        self, open_store: Callable[..., RedisStore], raw: Redis, prefix: str
    ) -> None:
        raw.set(f"{prefix}:schema", "2")
        for options in ({}, {"auto_migrate": False}):
            with pytest.raises(SchemaTooNewError):
                open_store(**options).create_session(ADA, NewSession(id="s"))
        with pytest.raises(SchemaTooNewError):
            open_store().admin.migrate()
        assert redis.own_keys() == [f"{prefix}:schema".encode()]

    def test_many_may_start_at_once(self, open_store: Callable[..., RedisStore]) -> None:
        stores = [open_store() for _ in range(8)]
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(lambda it: it.admin.migrate(), stores)) == [1] * 8

    def test_a_server_that_throws_data_away_is_refused(self, redis_url: str) -> None:
        server = RedisServer(*redis.FAST, "--maxmemory-policy", "allkeys-lru")
        try:
            with (
                RedisStore(server.url(), new_id=new_id) as store,
                pytest.raises(StoreError, match="noeviction"),
            ):
                store.create_session(ADA, NewSession(id="s"))
        finally:
            server.remove()

    def test_prefixes_do_not_mix(self, redis_url: str, store: RedisStore, prefix: str) -> None:
        furnish(store)
        with RedisStore(redis_url, prefix=f"{prefix}:2", new_id=new_id) as other:
            assert other.find_session(ADA, "s") is None
            assert other.admin.list_owners() == []
            other.create_session(ADA, NewSession(id="s"))
            other.erase_owner(ADA)
        assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
        assert store.admin.check() == []


class TestKeys:
    def test_all_keys_of_a_tree_share_a_hash_tag(
        self, store: RedisStore, raw: Redis, prefix: str
    ) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"", session="s")
        store.put_document(ADA, "k", b"")
        tags = {key.split(b"{")[1].split(b"}")[0] for key in redis.own_keys() if b"{" in key}
        tree = raw.hget(f"{prefix}:{{o:{ADA}}}:d", "s").split()[0]  # type: ignore[union-attr]
        assert tags == {tree, f"o:{ADA}".encode()}

    @pytest.mark.parametrize("name", ["a}b{c", "{}", "}", "%7B", "{o:ada}"])
    def test_rule_13_names_with_braces_stay_their_own(
        self, store: RedisStore, raw: Redis, prefix: str, name: str
    ) -> None:
        for owner in (name, ADA):
            store.create_session(owner, NewSession(id=name))
            store.append(owner, name, [say(name, owner)])
        for owner in (name, ADA):
            [message] = store.read(owner, name, Read()).messages
            assert (message.id, message.text) == (name, owner)
        slots = {k.split(b"{", 1)[1].split(b"}")[0] for k in redis.own_keys() if b"{" in k}
        assert len(slots) == 4

    def test_deleting_leaves_no_key_behind(self, store: RedisStore, prefix: str) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"", session="fork")
        store.create_session(ADA, fork_of("s", id="apart", detach=True))
        store.clear_session(ADA, "apart")
        for session in ("s", "fork", "apart"):
            store.delete_session(ADA, session)
        left = {key.rpartition(b":")[2] for key in redis.own_keys()}
        assert left == {b"schema", b"owners", b"t", b"f"}, "the feed tells that they went"
        store.erase_owner(ADA)
        assert redis.own_keys() == [f"{prefix}:schema".encode()]

    def test_an_erased_owner_leaves_no_key_behind(self, store: RedisStore, prefix: str) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"")
        store.changes(ADA, reader="r")
        store.erase_owner(ADA)
        assert redis.own_keys() == [f"{prefix}:schema".encode()]


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
            with watch.trips(store._runner._link) as trips:
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

    def test_a_fork_copies_nothing(self, store: RedisStore, watch: Watch, prefix: str) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say(f"m{n}") for n in range(300)])
        commands = watch.inside(lambda: store.create_session(ADA, fork_of("s", "m150")))
        assert "RPUSH" not in commands
        assert "LRANGE" not in commands


class TestExpiry:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def store(self, open_store: Callable[..., RedisStore], clock: ManualClock) -> RedisStore:
        return open_store(clock=clock, session_ttl_s=100)

    def test_a_session_that_nobody_used_is_gone_and_leaves_nothing(
        self, store: RedisStore, clock: ManualClock, prefix: str
    ) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"", session="s")
        clock.advance(101)
        assert store.find_session(ADA, "s") is None
        with pytest.raises(NotFoundError):
            store.append(ADA, "fork", [say("late")])
        assert store.list_sessions(ADA, SessionQuery()).sessions == []
        store.settle()
        assert store.statistics(ADA).sessions == 0
        assert [it.kind for it in store.changes(ADA).changes][-2:] == [ChangeKind.RETIRE] * 2
        left = {key.rpartition(b":")[2] for key in redis.own_keys()}
        assert left == {b"schema", b"owners", b"t", b"f"}

    def test_each_append_gives_it_more_time(self, store: RedisStore, clock: ManualClock) -> None:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(5):
            clock.advance(60)
            store.append(ADA, "s", [say(f"m{n}")])
            store.settle()
        clock.advance(99)
        assert shown(store.read(ADA, "s", Read())) == [f"m{n}" for n in range(5)]
        clock.advance(2)
        store.settle()
        assert store.find_session(ADA, "s") is None

    def test_no_fork_goes_with_its_source(self, store: RedisStore, clock: ManualClock) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        clock.advance(60)
        store.create_session(ADA, fork_of("s", "m2"))
        store.append(ADA, "fork", [say("f1")])
        store.create_session(ADA, fork_of("s", "m3", id="bare"))
        clock.advance(60)
        store.settle()
        assert shown(store.read(ADA, "bare", Read())) == ["m1", "m2", "m3"]
        assert store.find_session(ADA, "s") is None
        history = store.read(ADA, "fork", Read())
        assert [(it.id, it.home) for it in history.messages] == [
            ("m1", None),
            ("m2", None),
            ("f1", "fork"),
        ]
        assert store.admin.check() == []

    def test_one_created_again_begins_empty(self, store: RedisStore, clock: ManualClock) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        clock.advance(101)
        assert store.create_session(ADA, NewSession(id="s")).messages == 0
        assert store.append(ADA, "s", [say("m1", "other")]).written == 1


class TestTogether:
    def test_another_store_finds_a_session_that_was_created_anew(
        self, open_store: Callable[..., RedisStore]
    ) -> None:
        one, other = open_store(), open_store()
        one.create_session(ADA, NewSession(id="s"))
        other.append(ADA, "s", [say("old")])
        for again in range(3):
            one.delete_session(ADA, "s")
            with pytest.raises(NotFoundError):
                other.append(ADA, "s", [say("nowhere")])
            one.create_session(ADA, NewSession(id="s"))
            other.append(ADA, "s", [say(f"m{again}")])
            assert shown(one.read(ADA, "s", Read())) == [f"m{again}"]

    def test_another_store_lists_by_what_was_said_last(
        self, open_store: Callable[..., RedisStore], raw: Redis, prefix: str
    ) -> None:
        clock = ManualClock()
        one, other = open_store(clock=clock), open_store(clock=clock)
        for name in "abc":
            one.create_session(ADA, NewSession(id=name))
        raw.delete(f"{prefix}:{{o:{ADA}}}:h")  # as if they had been created long ago
        for name in "cab":
            clock.advance(2)
            one.append(ADA, name, [say(None)])
        listed = other.list_sessions(ADA, SessionQuery()).sessions
        assert [it.id for it in listed] == ["b", "a", "c"]

    def test_a_name_that_was_claimed_and_never_used_can_be_had(
        self, store: RedisStore, raw: Redis, prefix: str
    ) -> None:
        store.settle()
        long_ago = time.time_ns() // 1000 - 60_000_000
        raw.hset(f"{prefix}:{{o:{ADA}}}:d", "s", f"gone 1 {long_ago}")
        assert store.find_session(ADA, "s") is None
        assert store.list_sessions(ADA, SessionQuery()).sessions == []
        store.create_session(ADA, NewSession(id="s"))
        assert store.append(ADA, "s", [say("m1")]).written == 1
        assert store.admin.check() == []

    def test_a_name_that_is_being_claimed_is_waited_for(
        self, store: RedisStore, raw: Redis, prefix: str
    ) -> None:
        store.settle()
        now = time.time_ns() // 1000
        raw.hset(f"{prefix}:{{o:{ADA}}}:d", "s", f"slow 1 {now - 2_500_000}")
        store.create_session(ADA, NewSession(id="s"))
        assert time.time_ns() // 1000 > now + 400_000
        assert store.append(ADA, "s", [say("m1")]).written == 1

    def test_rule_09_of_many_that_take_an_owners_lease_one_succeeds(
        self, store: RedisStore
    ) -> None:
        def count(_: int) -> int:
            done = 0
            while done < 5:
                found = store.find_document(ADA, "k")
                value = b"%d" % (int(found.value) + 1 if found else 1)
                version = found.version if found else 0
                with contextlib.suppress(StaleVersionError):
                    store.put_document(ADA, "k", value, expected_version=version)
                    done += 1
            return done

        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(count, range(4))) == 20
        found = store.find_document(ADA, "k")
        assert found is not None
        assert found.value == b"20"


def test_the_clock_is_the_servers_where_none_is_given(store: RedisStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    text = NewMessage(role="user", parts=[TextPart(text="x")])
    first, second = (store.append(ADA, "s", [text]).messages[0] for _ in range(2))
    assert 0 < second.created_us - first.created_us < 60_000_000
    document = store.put_document(ADA, "k", b"", expires_in_s=0.01)
    assert document.expires_us == document.updated_us + 10_000
    time.sleep(0.02)
    assert store.find_document(ADA, "k") is None


def test_versions_are_not_used_again_after_a_session_or_an_owner_was_deleted(
    store: RedisStore,
) -> None:
    seen: list[int] = []
    for _ in range(3):
        store.create_session(ADA, NewSession(id="s"))
        seen.append(store.put_document(ADA, "k", b"", session="s").version)
        store.delete_session(ADA, "s")
    for _ in range(3):
        seen.append(store.put_document(ADA, "k", b"").version)
        store.erase_owner(ADA)
    assert seen == sorted(set(seen))


def test_a_cursor_from_before_an_owner_was_erased_is_refused(store: RedisStore) -> None:
    furnish(store)
    cursor = store.changes(ADA).cursor
    store.erase_owner(ADA)
    furnish(store)
    with pytest.raises(NotFoundError):
        store.changes(ADA, after=cursor)


def test_a_feed_is_trimmed_behind_its_readers_once_it_is_old(
    open_store: Callable[..., RedisStore],
) -> None:
    clock = ManualClock()
    store = open_store(clock=clock)
    furnish(store)
    page = store.changes(ADA, limit=2, reader="slow")
    end = store.changes(ADA).cursor
    clock.advance(90_000)
    store.changes(ADA, after=page.cursor, reader="slow", limit=1)
    store.settle()
    assert [it.message for it in store.changes(ADA, after=page.cursor, limit=1).changes] == ["m3"]
    store.changes(ADA, after=end, reader="slow")
    store.settle()
    assert store.changes(ADA).changes == []
    with pytest.raises(NotFoundError):
        store.changes(ADA, after=page.cursor)


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
