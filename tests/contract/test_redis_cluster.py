"""The Redis store keeps the contract on a cluster of three servers, in both twins."""

from __future__ import annotations

from functools import partial

import pytest
from servers import redis_cluster

from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing import AsyncDurableStoreContract, DurableStoreContract, machine_for

from .on_redis import AsyncOnServers, OnServers, UnderAPrefix
from .places import as_many

pytestmark = pytest.mark.usefixtures("redis_cluster_url")


class TestRedisStoreOnACluster(OnServers, DurableStoreContract):
    server = redis_cluster


class TestAsyncRedisStoreOnACluster(AsyncOnServers, AsyncDurableStoreContract):
    server = redis_cluster


sync_place = partial(UnderAPrefix, redis_cluster, RedisStore)
async_place = partial(UnderAPrefix, redis_cluster, AsyncRedisStore)
TestMachine = machine_for("Redis Cluster, sync", sync_place).TestCase
TestAsyncMachine = machine_for("Redis Cluster, async", async_place).TestCase
TestMachine.settings = TestAsyncMachine.settings = as_many(examples=5)
