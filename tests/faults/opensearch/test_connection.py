"""Connections that are cut, answers that are lost, two clients, clocks and refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from servers.opensearch import OpenSearchNode, connect
from servers.proxy import Proxy

from sapwood.errors import (
    MessageTooLargeError,
    MigrationNeededError,
    ReadOnlyError,
    SchemaTooNewError,
    StaleVersionError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from sapwood.stores.opensearch import OpenSearchStore
from sapwood.testing import COUNTS

from ..sharing import write_together
from ..tried import tried
from .support import ADA, clock, ids_in, make_session, open_async_store, open_store, say


def test_a_cut_connection_is_replaced_within_the_call(proxy: Proxy, prefix: str) -> None:
    with open_store(f"opensearch://127.0.0.1:{proxy.port}", prefix) as store:
        make_session(store)
        for n in range(3):
            proxy.cut()
            store.append(ADA, "s", [say(f"m{n}")])
            proxy.cut()
            assert ids_in(store) == [f"m{k}" for k in range(n + 1)]
            proxy.cut()
            store.put_document(ADA, "k", b"", session="s")
            tried("OpenSearch", "connection cut", 3)


def test_rule_02_an_append_whose_answer_was_lost_is_written_once(proxy: Proxy, prefix: str) -> None:
    with open_store(f"opensearch://127.0.0.1:{proxy.port}", prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        for _ in range(4):
            proxy.swallow_next_answer()
            done = store.append(ADA, "s", [say(None), say(None)])
            assert (len(done.messages), done.written) == (2, 2)
        assert proxy.swallowed == 4
        assert len(ids_in(store)) == 9
        for n in range(4):
            proxy.swallow_next_answer()
            store.append(ADA, "s", [say(f"x{n}")])
        assert len(ids_in(store)) == 13
        tried("OpenSearch", "duplicate delivery after a lost answer", proxy.swallowed)


async def test_rule_02_the_same_on_a_loop(proxy: Proxy, prefix: str) -> None:
    url = f"opensearch://127.0.0.1:{proxy.port}"
    with open_store(url, prefix) as other:
        make_session(other)
    async with open_async_store(url, prefix) as store:
        await store.append(ADA, "s", [say("m0")])
        for _ in range(3):
            proxy.swallow_next_answer()
            assert (await store.append(ADA, "s", [say(None)])).written == 1
        record = await store.find_session(ADA, "s")
        assert record is not None
        assert record.messages == 4
        tried("OpenSearch", "duplicate delivery after a lost answer", proxy.swallowed)


def test_a_lost_answer_to_a_lease_gives_it_to_one(proxy: Proxy, prefix: str) -> None:
    """Two that put the same under the same number: the record says who was first."""
    url = f"opensearch://127.0.0.1:{proxy.port}"
    with (
        open_store(url, prefix) as one,
        open_store(url, prefix) as two,
        ThreadPoolExecutor(2) as threads,
    ):
        make_session(one)
        for n in range(6):

            def take(store: OpenSearchStore, name: bytes, key: str = f"lease-{n}") -> bool:
                try:
                    store.put_document(ADA, key, name, session="s", expected_version=0)
                except StaleVersionError:
                    return False
                return True

            proxy.swallow_next_answer()
            names = (b"one", b"two")
            won = list(threads.map(take, (one, two), names))
            assert won.count(True) == 1, won
            found = one.find_document(ADA, f"lease-{n}", session="s")
            assert found is not None
            assert found.value == names[won.index(True)]
            COUNTS["OpenSearch: two for one lease, with an answer lost"] += 1
        assert proxy.swallowed == 6


def test_rule_06_two_clients_with_one_session(node: OpenSearchNode, prefix: str) -> None:
    with open_store(node.url(), prefix) as one, open_store(node.url(), prefix) as two:
        write_together(one, two)
    tried("OpenSearch", "two clients with one session")


def test_rule_05_a_clock_that_goes_backwards_changes_no_order(
    node: OpenSearchNode, prefix: str
) -> None:
    with open_store(node.url(), prefix, clock=lambda: clock() + 10**9) as ahead:
        make_session(ahead)
        ahead.append(ADA, "s", [say("m1")])
    with open_store(node.url(), prefix, clock=lambda: clock() - 10**12) as behind:
        behind.append(ADA, "s", [say("m2")])
        assert ids_in(behind) == ["m1", "m2"]
    tried("OpenSearch", "clock that goes backwards")


def test_a_newer_schema_is_refused_and_a_missing_one_told(
    node: OpenSearchNode, prefix: str
) -> None:
    with open_store(node.url(), prefix, auto_migrate=False) as store:
        with pytest.raises(MigrationNeededError):
            store.find_session(ADA, "s")
        assert store.admin.migrate() == 1
        make_session(store)
    with connect(node.url()) as client:
        name = f"{prefix}-records"
        client.indices.put_mapping(index=name, body={"_meta": {"sapwood": 99}})
        with open_store(node.url(), prefix) as store:
            for call in (lambda: store.find_session(ADA, "s"), store.admin.migrate):
                with pytest.raises(SchemaTooNewError, match="99"):
                    call()
    tried("OpenSearch", "schema from a newer version", 2)


def test_an_index_that_is_removed_is_not_made_up(node: OpenSearchNode, prefix: str) -> None:
    with open_store(node.url(), prefix) as store, connect(node.url()) as client:
        make_session(store)
        client.indices.delete(index=f"{prefix}-records-1")
        with pytest.raises((MigrationNeededError, StoreUnavailableError)):
            store.append(ADA, "s", [say("m1")])
        assert not client.indices.exists(index=f"{prefix}-records")


@pytest.mark.parametrize(
    ("block", "kind", "may_be_retried"),
    [
        # Of the user's own: it stays until he takes it away.
        ("read_only", ReadOnlyError, False),
        # Of a disk that is full: the cluster takes it away when there is room again.
        ("read_only_allow_delete", StoreBusyError, True),
    ],
)
def test_a_cluster_that_takes_no_writes_says_so(
    node: OpenSearchNode, prefix: str, block: str, kind: type[StoreError], may_be_retried: bool
) -> None:
    with open_store(node.url(), prefix) as store, connect(node.url()) as client:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        for value in (True, None):
            body = {f"index.blocks.{block}": value}
            client.indices.put_settings(index=f"{prefix}-*", body=body)
            assert store.admin.health().writable == (value is None)
            if value:
                with pytest.raises(StoreError) as caught:
                    store.append(ADA, "s", [say("m2")])
                assert type(caught.value) is kind
                assert caught.value.retryable == may_be_retried
                assert ids_in(store) == ["m1"]
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


def test_rule_15_a_payload_over_the_limit_is_refused_before_it_is_sent(
    node: OpenSearchNode, prefix: str
) -> None:
    with open_store(node.url(), prefix, max_message_bytes=64 * 1024 * 1024) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1", "x" * 9_000_000)])
        with pytest.raises(MessageTooLargeError):
            store.append(ADA, "s", [say("m2", "x" * 40_000_000)])
        assert ids_in(store) == ["m1"]
    tried("OpenSearch", "payload over the limit")
