"""The Redis store keeps the contract on one server, in both twins."""

from __future__ import annotations

from functools import partial

import pytest
from servers import redis
from tier import WRITTEN_BY_HAND, often, usually

from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing import (
    AsyncDataStoreContract,
    AsyncDurableStoreContract,
    AsyncSharedContract,
    DataStoreContract,
    DurableStoreContract,
    SharedContract,
    machine_for,
)

from .on_redis import AsyncOnServers, OnServers, UnderAPrefix
from .places import on_a_server

pytestmark = pytest.mark.usefixtures("redis_url")


@usually(only=WRITTEN_BY_HAND)
class TestRedisStore(OnServers, DataStoreContract, DurableStoreContract, SharedContract):
    server = redis


class TestAsyncRedisStore(
    AsyncOnServers, AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract
):
    server = redis
    walk_steps = often(100, 24_000)


sync_place = partial(UnderAPrefix, redis, RedisStore)
async_place = partial(UnderAPrefix, redis, AsyncRedisStore)
TestMachine = machine_for("Redis, sync", sync_place).TestCase
TestAsyncMachine = machine_for("Redis, async", async_place).TestCase
on_a_server(TestMachine, TestAsyncMachine, full=30)
