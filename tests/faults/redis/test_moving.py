"""A cluster whose slots are moved to other nodes while somebody writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from redis import RedisCluster
from redis.crc import key_slot
from servers.redis_cluster import ClusterOfServers

from sapwood.model import NewSession, Read, SessionQuery
from sapwood.testing import COUNTS

from ..writers import Writers
from .moving import Movers
from .support import ADA, ids_in, make_session, open_async_store, open_store, say


@pytest.fixture
def movers(cluster: ClusterOfServers) -> Iterator[Movers]:
    movers = Movers(cluster)
    yield movers
    movers.close()
    cluster.wait_until_whole()


@pytest.mark.fault
def test_rule_01_nothing_is_lost_or_torn_while_slots_are_moved(
    cluster: ClusterOfServers, movers: Movers, prefix: str
) -> None:
    with open_store(cluster.url(), prefix) as store:
        with Writers(store) as writers:
            writers.wait_for_more()
            for round in range(3):
                for slot in movers.slots_of(prefix):
                    movers.move(slot, pause_s=0.01 * round)
                    COUNTS["slots of a Redis Cluster moved"] += 1
                writers.wait_for_more()
        writers.check()


def slot_of(cluster: ClusterOfServers, prefix: str, session: str) -> int:
    """Give the slot of a session's tree."""
    url = cluster.url().replace("+cluster", "")
    with RedisCluster.from_url(url) as client:
        value = client.hget(f"{prefix}:{{o:{ADA}}}:d", session)
    assert isinstance(value, bytes)
    return key_slot(b"{%s}" % value.split()[0])


@pytest.mark.parametrize("moved", [0, 1, 3, 5])
def test_a_tree_of_which_a_part_has_moved_is_waited_for(
    cluster: ClusterOfServers, movers: Movers, prefix: str, moved: int
) -> None:
    with open_store(cluster.url(), prefix) as store, ThreadPoolExecutor(3) as threads:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        slot = slot_of(cluster, prefix, "s")
        movers.begin(slot)
        movers.move_some(slot, moved)
        asked: list[Future[Any]] = [
            threads.submit(store.append, ADA, "s", [say("m2"), say("m3")]),
            threads.submit(store.read, ADA, "s", Read(limit=1)),
            threads.submit(store.put_document, ADA, "k", b"v", session="s"),
        ]
        while movers.move_some(slot, 1):
            continue
        movers.end(slot)
        for it in asked:
            it.result()
        COUNTS["slots of a Redis Cluster moved"] += 1
        assert ids_in(store) == ["m1", "m2", "m3"]
        assert store.find_document(ADA, "k", session="s") is not None
        assert store.admin.check() == []


async def test_the_async_twin_waits_for_a_tree_that_is_moved(
    cluster: ClusterOfServers, movers: Movers, prefix: str
) -> None:
    async with open_async_store(cluster.url(), prefix) as store:
        for name in ("s", "other"):
            await store.create_session(ADA, NewSession(id=name))
            await store.append(ADA, name, [say("m1")])
        slot = slot_of(cluster, prefix, "s")
        movers.begin(slot)
        movers.move_some(slot, 3)
        calls = (store.append(ADA, name, [say("m2")]) for name in ("s", "other", "s"))
        asked = asyncio.gather(*calls)
        await store.append(ADA, "other", [say("m3")])
        assert not asked.done(), "a part of the tree was on another node"
        while movers.move_some(slot, 1):
            continue
        movers.end(slot)
        assert [it.written for it in await asked] == [1, 1, 0]
        COUNTS["slots of a Redis Cluster moved"] += 1
        for name, want in (("s", ["m1", "m2"]), ("other", ["m1", "m2", "m3"])):
            history = await store.read(ADA, name, Read())
            assert sorted(it.id for it in history.messages_only) == want
        assert await store.admin.check() == []


def test_listings_and_statistics_wait_for_a_tree_of_which_a_part_has_moved(
    cluster: ClusterOfServers, movers: Movers, prefix: str
) -> None:
    with open_store(cluster.url(), prefix) as store, ThreadPoolExecutor(2) as threads:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        slot = slot_of(cluster, prefix, "s")
        movers.begin(slot)
        movers.move_some(slot, 3)
        listed = threads.submit(store.list_sessions, ADA, SessionQuery())
        counted = threads.submit(store.statistics, ADA)
        # Longer than the driver waits by itself.
        with pytest.raises(TimeoutError):
            counted.result(3)
        while movers.move_some(slot, 1):
            continue
        movers.end(slot)
        assert [it.id for it in listed.result().sessions] == ["s"]
        assert counted.result().messages == 1
        COUNTS["slots of a Redis Cluster moved"] += 1
