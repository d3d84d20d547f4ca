"""Servers that take connections and never answer: nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from servers.proxy import Proxy
from servers.redis import RedisServer
from servers.redis_cluster import ClusterOfServers

from sapwood.errors import StoreUnavailableError
from sapwood.model import NewSession, Read
from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing import COUNTS

from ..tried import tried
from .support import ADA, ids_in, make_session, new_id, open_async_store, open_store, say

SILENT = {"answer_within_s": 0.4}


@pytest.fixture(autouse=True)
def _passes_in_the_end(proxy: Proxy) -> Iterator[None]:
    yield
    proxy.restore()


def test_a_server_that_falls_silent_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix, **SILENT) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        proxy.hold()
        for call in (
            lambda: store.append(ADA, "s", [say("m2"), say("m3")]),
            lambda: store.read(ADA, "s", Read()),
            lambda: store.put_document(ADA, "k", b"v", session="s"),
        ):
            with pytest.raises(StoreUnavailableError) as caught:
                call()
            assert caught.value.retryable
            tried("Redis", "time-out")
        proxy.release()
        store.append(ADA, "s", [say("m2"), say("m3")])
        assert ids_in(store) == ["m1", "m2", "m3"]
        assert store.admin.check() == []


async def test_the_async_twin_is_told_too(proxy: Proxy, proxied: str, prefix: str) -> None:
    async with open_async_store(proxied, prefix, **SILENT) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")])
        proxy.hold()
        for _ in range(2):
            with pytest.raises(StoreUnavailableError) as caught:
                await store.append(ADA, "s", [say("m2"), say("m3")])
            assert caught.value.retryable
            tried("Redis", "time-out")
        proxy.release()
        await store.append(ADA, "s", [say("m2"), say("m3")])
        assert [it.id for it in (await store.read(ADA, "s", Read())).messages_only] == [
            "m1",
            "m2",
            "m3",
        ]


async def test_who_comes_after_a_read_that_was_cancelled_gets_its_own_answer(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    async with open_async_store(proxied, prefix, most_connections=1) as store:
        for name in ("s", "other"):
            await store.create_session(ADA, NewSession(id=name))
            await store.append(ADA, name, [say(f"{name}-1")])
            for _ in range(2):
                await store.read(ADA, name, Read())
        for _ in range(3):
            proxy.hold()
            reading = asyncio.create_task(store.read(ADA, "s", Read()))
            await asyncio.sleep(0.05)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            proxy.release()
            history = await store.read(ADA, "other", Read())
            assert [it.id for it in history.messages_only] == ["other-1"]
            COUNTS["reads of Redis cancelled"] += 1


async def test_one_that_never_said_anything_is_told(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    proxy.hold()
    with open_store(proxied, prefix, **SILENT) as store, pytest.raises(StoreUnavailableError):
        make_session(store)
    async with open_async_store(proxied, prefix, **SILENT) as twin:
        with pytest.raises(StoreUnavailableError):
            await twin.create_session(ADA, NewSession(id="s"))
    tried("Redis", "time-out", 2)


async def test_a_node_of_a_cluster_that_falls_silent_is_told(
    cluster: ClusterOfServers, prefix: str
) -> None:
    url = cluster.url()
    async with open_async_store(url, prefix, **SILENT) as twin:
        with open_store(url, prefix, **SILENT) as store:
            for n in range(12):
                make_session(store, f"s{n}")
                await twin.append(ADA, f"s{n}", [say("m1")])
            silent = cluster.servers[2]
            silent.pause()
            try:
                with pytest.raises(StoreUnavailableError) as caught:  # noqa: PT012
                    for n in range(12):
                        store.append(ADA, f"s{n}", [say("m2")])
                assert caught.value.retryable
                with pytest.raises(StoreUnavailableError) as caught:  # noqa: PT012
                    for n in range(12):
                        await twin.append(ADA, f"s{n}", [say("m3")])
                assert caught.value.retryable
            finally:
                silent.go_on()
                cluster.wait_until_whole()
            tried("Redis", "time-out", 2)
            for n in range(12):
                store.append(ADA, f"s{n}", [say("m2")])
                await twin.append(ADA, f"s{n}", [say("m3")])
                assert sorted(ids_in(store, f"s{n}")) == ["m1", "m2", "m3"]
            assert store.admin.check() == []


@pytest.mark.parametrize("written", [{}, {"socket_timeout": 1.5}, {"socket_connect_timeout": 2.0}])
async def test_there_is_a_limit_whatever_the_driver_has_by_default(
    server: RedisServer, cluster: ClusterOfServers, written: dict[str, float]
) -> None:
    parameters = "".join(f"?{name}={seconds}" for name, seconds in written.items())
    single = {"socket_timeout": 30.0, "socket_connect_timeout": 10.0}
    each_of_four = {"socket_timeout": 7.5, "socket_connect_timeout": 7.5}
    kinds: tuple[type[Any], ...] = (RedisStore, AsyncRedisStore)
    for kind in kinds:
        for url, ours in ((server.url(), single), (cluster.url(), each_of_four)):
            client = kind(url + parameters, new_id=new_id)._runner.here()._client._connect()
            given = limits_of(client)
            assert {name: given[name] for name in ours} == {**ours, **written}
            await close(client)


def limits_of(client: Any) -> dict[str, Any]:
    holder = getattr(client, "connection_pool", None) or client.nodes_manager
    found: dict[str, Any] = holder.connection_kwargs
    return found


async def close(client: Any) -> None:
    if hasattr(client, "aclose"):
        await client.aclose()
    else:
        client.close()
