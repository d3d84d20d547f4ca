"""A cluster: a node that is gone and comes back, and trees that lie on all of them."""

from __future__ import annotations

import asyncio

import pytest
from redis import Redis
from servers.redis_cluster import ClusterOfServers

from sapwood.errors import StoreError, StoreUnavailableError
from sapwood.model import NewSession, Read

from ..tried import tried
from ..writers import Writers
from .support import ADA, ids_in, make_session, open_async_store, open_store, say


def test_trees_lie_on_all_nodes(cluster: ClusterOfServers, prefix: str) -> None:
    with open_store(cluster.url(), prefix) as store:
        for n in range(40):
            make_session(store, f"s{n}")
            store.append(ADA, f"s{n}", [say("m1")])
        sizes = []
        for server in cluster.servers:
            with Redis(port=server.port) as raw:
                sizes.append(len(list(raw.scan_iter(match=f"{prefix}:*:b:1", count=1_000))))
        assert sum(sizes) == 40
        assert min(sizes) > 0
        assert store.statistics(ADA).messages == 40


async def test_appends_that_arrive_together_go_to_their_nodes(
    cluster: ClusterOfServers, prefix: str
) -> None:
    async with open_async_store(cluster.url(), prefix) as store:
        for n in range(12):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
        calls = (store.append(ADA, f"s{n % 12}", [say(f"m{n}")]) for n in range(120))
        assert [it.written for it in await asyncio.gather(*calls)] == [1] * 120
        for n in range(12):
            history = await store.read(ADA, f"s{n}", Read())
            assert len(history.entries) == 10


@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_the_loss_of_a_node(
    cluster: ClusterOfServers, prefix: str
) -> None:
    with open_store(cluster.url(), prefix) as store:
        with Writers(store) as writers:
            for server in cluster.servers[:2]:
                writers.wait_for_more()
                server.kill()
                server.start()
                cluster.wait_until_whole()
                tried("Redis", "node of the cluster gone")
            writers.wait_for_more()
        writers.check()


def test_a_node_that_is_gone_is_told_and_one_that_came_back_is_used(
    cluster: ClusterOfServers, prefix: str
) -> None:
    with open_store(cluster.url(), prefix) as store:
        for n in range(12):
            make_session(store, f"s{n}")
            store.append(ADA, f"s{n}", [say("m1")])
        cluster.servers[1].stop()
        try:
            with pytest.raises(StoreUnavailableError) as caught:  # noqa: PT012
                for n in range(12):
                    store.append(ADA, f"s{n}", [say("m2")])
            assert caught.value.retryable
        finally:
            cluster.servers[1].start()
            cluster.wait_until_whole()
        tried("Redis", "node of the cluster gone")
        for n in range(12):
            store.append(ADA, f"s{n}", [say("m2")])
            assert ids_in(store, f"s{n}") == ["m1", "m2"]


async def test_one_that_fails_takes_nobody_with_it_on_nodes_that_forgot_the_scripts(
    cluster: ClusterOfServers, prefix: str
) -> None:
    async with open_async_store(cluster.url(), prefix) as store:
        for n in range(12):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say("m1")])
        tree = await store._runner.here()._context.directory.find_tree(ADA, "s3")
        await store._runner.here()._client.run("SET", f"{prefix}:{{{tree}}}:s:s3", "damaged")
        for server in cluster.servers:
            with Redis(port=server.port) as raw:
                raw.script_flush()
        calls = (store.append(ADA, f"s{n}", [say("m2")]) for n in range(12))
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(done.pop(3), StoreError)
        assert [getattr(it, "written", it) for it in done] == [1] * 11
