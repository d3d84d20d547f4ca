"""A server that keeps silent, answers that break off, and no connection that is free."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers.proxy import Proxy

from sapwood.errors import StoreUnavailableError
from sapwood.model import Read, Search

from ..late import (
    give_up_an_answer_that_is_too_late,
    wait_for_late_answers,
    wait_for_late_answers_on_a_loop,
)
from ..tried import tried
from .support import ADA, ids_in, make_session, open_async_store, open_store, say


@pytest.fixture
def proxied(proxy: Proxy) -> Iterator[str]:
    yield f"opensearch://127.0.0.1:{proxy.port}"
    proxy.restore()


def test_a_server_that_does_not_answer_in_time_is_told(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
    with open_store(proxied, prefix, answer_within_s=1) as store:
        store.append(ADA, "s", [say("m1")])
        calls = (
            lambda: store.append(ADA, "s", [say("m2")]),
            lambda: ids_in(store),
            lambda: store.search(ADA, Search(text="m1")),
        )
        for call in calls:
            proxy.hold()
            with pytest.raises(StoreUnavailableError) as caught:
                call()
            assert caught.value.retryable
            tried("OpenSearch", "time-out")
            proxy.release()
        # It may have been written before the time was over: by its id, it is there once.
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


async def test_the_same_on_a_loop(proxy: Proxy, proxied: str, prefix: str) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
    async with open_async_store(proxied, prefix, answer_within_s=1) as store:
        await store.append(ADA, "s", [say("m1")])
        proxy.hold()
        with pytest.raises(StoreUnavailableError) as caught:
            await store.append(ADA, "s", [say("m2")])
        assert caught.value.retryable
        tried("OpenSearch", "time-out")
        proxy.release()
        await store.append(ADA, "s", [say("m2")])
        history = await store.read(ADA, "s", Read())
        assert [it.id for it in history.messages_only] == ["m1", "m2"]


KEPT_BYTES = [3, 30, 150]


@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
def test_rule_02_an_append_whose_answer_broke_off_is_written_once(
    proxy: Proxy, proxied: str, prefix: str, kept_bytes: int
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        proxy.truncate_next_answer(kept_bytes)
        assert store.append(ADA, "s", [say(None, "x"), say(None, "y")]).written == 2
        proxy.truncate_next_answer(kept_bytes)
        store.append(ADA, "s", [say("m1")])
        proxy.truncate_next_answer(kept_bytes)
        assert len(ids_in(store)) == 4
        assert proxy.truncated == 3
        assert store.append(ADA, "s", [say("m1")]).written == 0
        tried("OpenSearch", "answer truncated", proxy.truncated)


@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
async def test_rule_02_the_same_on_a_loop(
    proxy: Proxy, proxied: str, prefix: str, kept_bytes: int
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
    async with open_async_store(proxied, prefix) as store:
        await store.append(ADA, "s", [say("m0")])
        proxy.truncate_next_answer(kept_bytes)
        assert (await store.append(ADA, "s", [say(None, "x"), say(None, "y")])).written == 2
        proxy.truncate_next_answer(kept_bytes)
        assert len((await store.read(ADA, "s", Read())).messages_only) == 3
        assert proxy.truncated == 2
        tried("OpenSearch", "answer truncated", proxy.truncated)


async def test_answers_that_are_late_are_waited_for(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        wait_for_late_answers(store, proxy)
    async with open_async_store(proxied, f"{prefix}-a") as twin:
        tried("OpenSearch", "answer delayed", await wait_for_late_answers_on_a_loop(twin, proxy))


def test_rule_02_an_answer_that_is_too_late_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
    with open_store(proxied, prefix, answer_within_s=1) as store:
        tried("OpenSearch", "answer delayed", give_up_an_answer_that_is_too_late(store, proxy, 2))


def test_threads_never_wait_for_a_connection_of_the_pool(proxied: str, prefix: str) -> None:
    """A pool of threads cannot run dry: the driver makes more connections than it keeps."""
    with open_store(proxied, prefix, most_connections=1) as store:
        for n in range(8):
            make_session(store, f"s{n}")

        def write(n: int) -> None:
            for k in range(5):
                store.append(ADA, f"s{n}", [say(f"m{k}")])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        assert all(ids_in(store, f"s{n}") == [f"m{k}" for k in range(5)] for n in range(8))


async def test_a_pool_that_stays_dry_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as other:
        for n in range(3):
            make_session(other, f"s{n}")
    options = {"answer_within_s": 1, "most_connections": 1}
    async with open_async_store(proxied, prefix, **options) as store:
        for n in range(3):
            await store.append(ADA, f"s{n}", [say("m0")])

        async def write(n: int) -> None:
            await store.append(ADA, f"s{n}", [say("m1")])

        proxy.hold()
        # One has the connection, and gets no answer; the others wait for it.
        told = await asyncio.gather(*map(write, range(3)), return_exceptions=True)
        assert all(isinstance(it, StoreUnavailableError) and it.retryable for it in told), told
        tried("OpenSearch", "pool run dry")
        proxy.release()
        await asyncio.gather(*map(write, range(3)))
        for n in range(3):
            history = await store.read(ADA, f"s{n}", Read())
            assert [it.id for it in history.messages_only] == ["m0", "m1"]
