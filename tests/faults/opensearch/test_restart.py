"""Rule 1: what was acknowledged is there after a server was killed, one of one or one of three."""

from __future__ import annotations

import pytest
from servers.opensearch import OpenSearchCluster, OpenSearchNode

from sapwood.errors import StoreUnavailableError
from sapwood.model import Search
from sapwood.testing import COUNTS

from ..tried import tried
from ..writers import AsyncWriters, Writers
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

WRITERS = 3
IN_DOUBT = "OpenSearch: appends in doubt, sent again by the same id"


@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_kills_in_the_middle_of_writes(
    node: OpenSearchNode, prefix: str
) -> None:
    with open_store(node.url(), prefix) as store:
        with Writers(store, WRITERS) as writers:
            for _ in range(2):
                writers.wait_for_more(20)
                node.kill()
                tried("OpenSearch", "server killed in the middle of writes")
                node.start()
            writers.wait_for_more(20)
        COUNTS[IN_DOUBT] += len(writers.failed)
        store.finish_deletions()
        writers.check()


@pytest.mark.fault
async def test_rule_01_what_tasks_were_told_survives_a_kill_in_the_middle_of_writes(
    node: OpenSearchNode, prefix: str
) -> None:
    async with open_async_store(node.url(), prefix) as store:
        async with AsyncWriters(store) as writers:
            await writers.let_die(node)
        COUNTS[IN_DOUBT] += len(writers.failed)
        await store.finish_deletions()
        await writers.check()
    tried("OpenSearch", "server killed in the middle of writes")


@pytest.mark.fault
def test_a_server_that_is_gone_is_told_at_once_and_one_that_came_back_is_used(
    node: OpenSearchNode, prefix: str
) -> None:
    with open_store(node.url(), prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        node.kill()
        try:
            with pytest.raises(StoreUnavailableError) as caught:
                store.append(ADA, "s", [say("m2")])
            assert caught.value.retryable
            with pytest.raises(StoreUnavailableError):
                ids_in(store)
            with pytest.raises(StoreUnavailableError):
                store.search(ADA, Search(text="m1"))
        finally:
            node.start()
        assert ids_in(store) == ["m1"]
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]
        assert len(store.search(ADA, Search(text="m2")).hits) == 1


@pytest.mark.fault
async def test_the_async_twin_goes_on_after_a_restart(node: OpenSearchNode, prefix: str) -> None:
    with open_store(node.url(), prefix) as other:
        make_session(other)
    async with open_async_store(node.url(), prefix) as store:
        await store.append(ADA, "s", [say("m1")])
        node.kill()
        node.start()
        done = await store.append(ADA, "s", [say("m2")])
        assert (done.written, done.messages[0].depth) == (1, 2)


@pytest.mark.full
@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_the_loss_of_a_node(
    cluster: OpenSearchCluster, prefix: str
) -> None:
    with open_store(cluster.url(), prefix) as store:
        store.search(ADA, Search(text="nothing"))
        cluster.wait_for(3)
        # A node takes a while to come back: they need not write thousands meanwhile.
        with Writers(store, WRITERS, pause_s=0.3) as writers:
            for node in cluster.nodes[:2]:
                writers.wait_for_more(20)
                node.kill()
                tried("OpenSearch", "node of the cluster gone")
                cluster.wait_for(2)
                writers.wait_for_more(20)
                node.start()
                cluster.wait_for(3)
            writers.wait_for_more(20)
        COUNTS[IN_DOUBT] += len(writers.failed)
        store.finish_deletions()
        writers.check()
        found = store.search(ADA, Search(text="w0*", limit=1_000))
        assert len(found.hits) == len(writers.told[0])
