"""Appends that arrive together go out together, and each is told its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from servers.proxy import Proxy
from servers.redis import RedisServer
from servers.redis_watch import Watch

from sapwood.errors import MessageConflictError, NotFoundError, StoreUnavailableError
from sapwood.model import ForkPoint, NewSession, Read
from sapwood.stores.redis import AsyncRedisStore

from .support import ADA, open_async_store, say

SESSIONS = 12
EACH = 20


@pytest.fixture
async def store(server: RedisServer, prefix: str) -> AsyncIterator[AsyncRedisStore]:
    async with open_async_store(server.url(), prefix) as store:
        for n in range(SESSIONS):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
        yield store


async def ids_in(store: AsyncRedisStore, session: str) -> list[str]:
    return [it.id for it in (await store.read(ADA, session, Read())).messages_only]


async def test_rule_06_many_writers_to_many_sessions_all_land(store: AsyncRedisStore) -> None:
    async def write(writer: int) -> None:
        for n in range(EACH):
            for session in (f"s{writer}", "s0"):
                await store.append(ADA, session, [say(f"w{writer}-{session}-{n}")])

    await asyncio.gather(*(write(w) for w in range(1, SESSIONS)))
    shared = await ids_in(store, "s0")
    assert len(shared) == len(set(shared)) == (SESSIONS - 1) * EACH
    for writer in range(1, SESSIONS):
        wanted = [f"w{writer}-s0-{n}" for n in range(EACH)]
        assert [id for id in shared if id.startswith(f"w{writer}-")] == wanted
        wanted = [f"w{writer}-s{writer}-{n}" for n in range(EACH)]
        assert await ids_in(store, f"s{writer}") == wanted
    assert await store.admin.check() == []


async def test_appends_that_arrive_together_use_few_connections(
    server: RedisServer, store: AsyncRedisStore
) -> None:
    with Watch(server.url()) as watch:
        before = watch.connections()
        await asyncio.gather(*(store.append(ADA, f"s{n % 12}", [say(None)]) for n in range(200)))
        assert watch.connections() - before <= 4


async def test_one_that_is_refused_takes_nobody_with_it(store: AsyncRedisStore) -> None:
    await store.append(ADA, "s0", [say("known", "one text")])
    done = await asyncio.gather(
        *(store.append(ADA, f"s{n}", [say("m")]) for n in range(SESSIONS)),
        store.append(ADA, "s0", [say("known", "another text")]),
        store.append(ADA, "s0", [say("known", "one text")]),
        store.append(ADA, "nowhere", [say("m")]),
        return_exceptions=True,
    )
    assert [it.written for it in done[:SESSIONS]] == [1] * SESSIONS  # type: ignore[union-attr]
    conflict, same, nowhere = done[SESSIONS:]
    assert isinstance(conflict, MessageConflictError)
    assert not isinstance(same, BaseException)
    assert same.written == 0
    assert isinstance(nowhere, NotFoundError)


async def test_all_are_told_when_the_server_is_gone(
    server: RedisServer, store: AsyncRedisStore
) -> None:
    await store.append(ADA, "s0", [say("m0")])
    server.stop()
    try:
        calls = (store.append(ADA, f"s{n}", [say("m1")]) for n in range(SESSIONS))
        done = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        server.start()
    assert [type(it) for it in done] == [StoreUnavailableError] * SESSIONS
    calls = (store.append(ADA, f"s{n}", [say("m1")]) for n in range(SESSIONS))
    assert [it.written for it in await asyncio.gather(*calls)] == [1] * SESSIONS


async def test_rule_01_a_cancelled_caller_waits_for_the_outcome(store: AsyncRedisStore) -> None:
    tasks = [asyncio.create_task(store.append(ADA, f"s{n}", [say("m1")])) for n in range(SESSIONS)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    for task in tasks:
        with pytest.raises(asyncio.CancelledError):
            await task
    for n in range(SESSIONS):
        assert await ids_in(store, f"s{n}") == ["m1"]


@pytest.mark.parametrize("batch", [["known", "m2"], ["m2"]])
async def test_rule_01_one_that_has_to_be_planned_is_not_abandoned_either(
    store: AsyncRedisStore, proxy: Proxy, proxied: str, prefix: str, batch: list[str]
) -> None:
    await store.append(ADA, "s0", [say("root"), say("known")])
    fork = NewSession(id="fork", fork=ForkPoint(session="s0"))
    await store.create_session(ADA, fork)
    async with open_async_store(proxied, prefix) as other:
        await other.read(ADA, "fork", Read())
        run_script = other._runner.here()._client.run_script

        async def hold_first(name, keys, *args):  # type: ignore[no-untyped-def]
            if name == "look":
                proxy.hold()
            return await run_script(name, keys, *args)

        other._runner.here()._client.run_script = hold_first  # type: ignore[method-assign]
        parent = "root" if len(batch) > 1 else "known"
        messages = [say(id) for id in batch]
        task = asyncio.create_task(other.append(ADA, "fork", messages, parent=parent))
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.sleep(0.2)
        assert not task.done()
        proxy.release()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await ids_in(store, "fork") == ["root", "known", "m2"]


async def test_units_of_work_on_one_session_that_come_together_are_all_done(
    store: AsyncRedisStore,
) -> None:
    calls = (store.put_document(ADA, f"{n}", b"", session="s0") for n in range(250))
    assert len({it.version for it in await asyncio.gather(*calls)}) == 250
