"""Connections that are cut, answers that are lost, two clients, clocks and refusals."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers.opensearch import OpenSearchNode, connect
from servers.proxy import Proxy

from sapwood.errors import (
    MessageTooLargeError,
    MigrationNeededError,
    ReadOnlyError,
    SchemaTooNewError,
    StaleTipError,
    StoreError,
    StoreUnavailableError,
)
from sapwood.model import ROOT
from sapwood.testing import COUNTS

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
            COUNTS["OpenSearch: connection cut"] += 3


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
        COUNTS["OpenSearch: answers lost"] += proxy.swallowed


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


def test_a_lost_answer_to_a_lease_gives_it_to_one(proxy: Proxy, prefix: str) -> None:
    """Two that put the same under the same number: the record says who was first."""
    url = f"opensearch://127.0.0.1:{proxy.port}"
    with open_store(url, prefix) as one, open_store(url, prefix) as two:
        make_session(one)
        for n in range(6):
            won: list[str] = []

            def take(
                store: object, name: str, key: str = f"lease-{n}", won: list[str] = won
            ) -> None:
                try:
                    store.put_document(ADA, key, b"", session="s", expected_version=0)  # type: ignore[attr-defined]
                except StoreError:
                    won.append(f"{name}?")
                except Exception:  # noqa: BLE001 - it was the other's
                    return
                else:
                    won.append(name)

            threads = [
                threading.Thread(target=take, args=(store, name))
                for store, name in ((one, "one"), (two, "two"))
            ]
            proxy.swallow_next_answer()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len([name for name in won if name[-1] != "?"]) <= 1, won
            COUNTS["OpenSearch: two for one lease, with an answer lost"] += 1


def test_rule_06_two_clients_with_one_session(node: OpenSearchNode, prefix: str) -> None:
    with open_store(node.url(), prefix) as one, open_store(node.url(), prefix) as two:
        make_session(one)

        def write(number: int) -> None:
            store = (one, two)[number % 2]
            for n in range(8):
                store.append(ADA, "s", [say(f"w{number}-{n}")])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert ids_in(one) == ids_in(two)
        assert sorted(ids_in(one)) == sorted(f"w{w}-{n}" for w in range(4) for n in range(8))
        with pytest.raises(StaleTipError):
            one.append(ADA, "s", [say("late")], expected_tip=ROOT)


def test_rule_05_a_clock_that_goes_backwards_changes_no_order(
    node: OpenSearchNode, prefix: str
) -> None:
    with open_store(node.url(), prefix, clock=lambda: clock() + 10**9) as ahead:
        make_session(ahead)
        ahead.append(ADA, "s", [say("m1")])
    with open_store(node.url(), prefix, clock=lambda: clock() - 10**12) as behind:
        behind.append(ADA, "s", [say("m2")])
        assert ids_in(behind) == ["m1", "m2"]
    COUNTS["OpenSearch: a clock that goes backwards"] += 1


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
        with open_store(node.url(), prefix) as store, pytest.raises(SchemaTooNewError):
            store.find_session(ADA, "s")


def test_an_index_that_is_removed_is_not_made_up(node: OpenSearchNode, prefix: str) -> None:
    with open_store(node.url(), prefix) as store, connect(node.url()) as client:
        make_session(store)
        client.indices.delete(index=f"{prefix}-records-1")
        with pytest.raises((MigrationNeededError, StoreUnavailableError)):
            store.append(ADA, "s", [say("m1")])
        assert not client.indices.exists(index=f"{prefix}-records")


def test_a_cluster_that_takes_no_writes_says_so(node: OpenSearchNode, prefix: str) -> None:
    with open_store(node.url(), prefix) as store, connect(node.url()) as client:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        for value in (True, None):
            body = {"index.blocks.read_only_allow_delete": value}
            client.indices.put_settings(index=f"{prefix}-*", body=body)
            assert store.admin.health().writable == (value is None)
            if value:
                with pytest.raises((ReadOnlyError, StoreError)):
                    store.append(ADA, "s", [say("m2")])
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
    COUNTS["OpenSearch: a payload over the limit"] += 1
