"""The Redis store keeps the contract on a cluster of three servers, in both twins."""

from __future__ import annotations

from functools import partial

import pytest
from servers import redis_cluster
from tier import STORAGE, WRITTEN_BY_HAND, usually

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

pytestmark = pytest.mark.usefixtures("redis_cluster_url")


@usually(only=WRITTEN_BY_HAND)
class TestRedisStoreOnACluster(OnServers, DataStoreContract, DurableStoreContract, SharedContract):
    server = redis_cluster


@usually(only=STORAGE | {"DataContract"})
class TestAsyncRedisStoreOnACluster(
    AsyncOnServers, AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract
):
    server = redis_cluster


sync_place = partial(UnderAPrefix, redis_cluster, RedisStore)
async_place = partial(UnderAPrefix, redis_cluster, AsyncRedisStore)
TestMachine = machine_for("Redis Cluster, sync", sync_place).TestCase
TestAsyncMachine = machine_for("Redis Cluster, async", async_place).TestCase
on_a_server(TestMachine, TestAsyncMachine, full=10)
