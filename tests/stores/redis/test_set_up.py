"""Setting a Redis store up: versions, several at once, prefixes, servers that will not do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from faults.tried import tried
from redis import Redis
from servers import redis
from servers.redis import RedisServer

from sapwood.errors import (
    MigrationNeededError,
    SchemaTooNewError,
    StoreError,
)
from sapwood.model import ForkPoint, NewSession, Read, SessionPatch
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ADA, shown

from .acts import furnish, new_id


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
        tried("Redis", "schema from a newer version", 3)

    def test_the_attributes_of_earlier_versions_are_there(
        self, open_store: Callable[..., RedisStore], raw: Redis
    ) -> None:
        store = open_store()
        store.create_session(ADA, NewSession(id="s", attributes={"k": 1}))
        [key] = [it for it in redis.own_keys() if it.endswith(b":s:s")]
        raw.hset(key, "data", raw.hget(key, "attributes"))
        raw.hdel(key, "attributes")
        fork = store.create_session(ADA, NewSession(id="fork", fork=ForkPoint(session="s")))
        record = store.update_session(ADA, "s", SessionPatch(title="t")).record
        assert (record.attributes, fork.attributes) == ({"k": 1}, {"k": 1})
        store.update_session(ADA, "s", SessionPatch(attributes={}))
        record = open_store().update_session(ADA, "s", SessionPatch()).record
        assert (record.attributes, record.title) == ({}, "t")
        assert raw.hget(key, "data") == b""

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
