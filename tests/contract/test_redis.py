"""The Redis store keeps the contract on one server, in both twins."""

from __future__ import annotations

from functools import partial

import pytest
from servers import redis

from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing import AsyncDurableStoreContract, DurableStoreContract, machine_for

from .on_redis import AsyncOnServers, OnServers, UnderAPrefix
from .places import as_many

pytestmark = pytest.mark.usefixtures("redis_url")


class TestRedisStore(OnServers, DurableStoreContract):
    server = redis


class TestAsyncRedisStore(AsyncOnServers, AsyncDurableStoreContract):
    server = redis


sync_place = partial(UnderAPrefix, redis, RedisStore)
async_place = partial(UnderAPrefix, redis, AsyncRedisStore)
TestMachine = machine_for("Redis, sync", sync_place).TestCase
TestAsyncMachine = machine_for("Redis, async", async_place).TestCase
TestMachine.settings = TestAsyncMachine.settings = as_many(examples=15)
