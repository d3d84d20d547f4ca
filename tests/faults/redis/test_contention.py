"""Clients that are in each other's way: a session that two write to, a pool that has run dry."""

from __future__ import annotations

import pytest
from servers.redis import RedisServer
from servers.redis_cluster import ClusterOfServers

from sapwood.errors import StoreBusyError

from ..sharing import write_together
from ..tried import tried
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

DRY = {"most_connections": 1, "patience_s": 0.2}


def test_rule_06_two_clients_with_one_session(server: RedisServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as one, open_store(server.url(), prefix) as two:
        write_together(one, two)
    tried("Redis", "two clients with one session")


def test_rule_06_two_clients_of_a_cluster_with_one_session(
    cluster: ClusterOfServers, prefix: str
) -> None:
    with open_store(cluster.url(), prefix) as one, open_store(cluster.url(), prefix) as two:
        write_together(one, two)
    tried("Redis", "two clients with one session")


def test_a_pool_run_dry_is_busy_and_works_again(server: RedisServer, prefix: str) -> None:
    with open_store(server.url(), prefix, **DRY) as store:
        make_session(store)
        pool = store._runner.here()._client.driver().connection_pool
        held = pool.get_connection()
        with pytest.raises(StoreBusyError) as caught:
            store.append(ADA, "s", [say("m1")])
        assert caught.value.retryable
        pool.release(held)
        assert store.append(ADA, "s", [say("m1")]).written == 1
        assert ids_in(store) == ["m1"]
    tried("Redis", "pool run dry")


async def test_a_pool_run_dry_on_a_loop_is_busy_and_works_again(
    server: RedisServer, prefix: str
) -> None:
    async with open_async_store(server.url(), prefix, **DRY) as store:
        with open_store(server.url(), prefix) as other:
            make_session(other)
        await store.find_session(ADA, "s")
        pool = (await store._runner.here()._client.driver()).connection_pool
        held = await pool.get_connection()
        with pytest.raises(StoreBusyError) as caught:
            await store.append(ADA, "s", [say("m1")])
        assert caught.value.retryable
        await pool.release(held)
        assert (await store.append(ADA, "s", [say("m1")])).written == 1
    tried("Redis", "pool run dry")
