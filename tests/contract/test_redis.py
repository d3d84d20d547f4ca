"""The Redis store keeps the contract on one server, in both twins."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import settings
from servers import redis

from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing import AsyncDurableStoreContract, DurableStoreContract, machine_for

from .on_redis import AsyncOnServers, OnServers, UnderAPrefix

pytestmark = pytest.mark.usefixtures("redis_url")


class TestRedisStore(OnServers, DurableStoreContract):
    server = redis


class TestAsyncRedisStore(AsyncOnServers, AsyncDurableStoreContract):
    server = redis


sync_place = partial(UnderAPrefix, redis, RedisStore)
async_place = partial(UnderAPrefix, redis, AsyncRedisStore)
TestMachine = machine_for("Redis, sync", sync_place).TestCase
TestAsyncMachine = machine_for("Redis, async", async_place).TestCase

# Each step compares all that there is, over a connection: fewer of them are enough here.
FEW = settings(max_examples=settings.default.max_examples // 2)
TestMachine.settings = TestAsyncMachine.settings = FEW
