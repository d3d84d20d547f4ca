"""Appends that arrive together go out together, and each is told its own outcome."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from typing import Any

import psycopg
import pytest
from servers.postgres import PostgresServer
from servers.proxy import Proxy

from sapwood.errors import MessageConflictError, NotFoundError, StoreError, StoreUnavailableError
from sapwood.model import NewSession, Read
from sapwood.stores.base.append_request import Request
from sapwood.stores.base.appends import Appends
from sapwood.stores.base.sender import MOST_SENDERS
from sapwood.stores.postgres import AsyncPostgresStore
from sapwood.testing.makers import cover, fork_of

from .support import ADA, make_session, open_async_store, open_store, say

SESSIONS = 12
EACH = 20


@pytest.fixture
async def store(server: PostgresServer, schema: str) -> AsyncIterator[AsyncPostgresStore]:
    async with open_async_store(server.url(), schema) as store:
        for n in range(SESSIONS):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
        yield store


async def ids_in(store: AsyncPostgresStore, session: str) -> list[str]:
    return [it.id for it in (await store.read(ADA, session, Read())).messages_only]


async def test_rule_06_many_writers_to_many_sessions_all_land(store: AsyncPostgresStore) -> None:
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


async def test_one_that_is_refused_takes_nobody_with_it(store: AsyncPostgresStore) -> None:
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


async def test_a_damaged_tree_takes_nobody_with_it(
    server: PostgresServer, schema: str, store: AsyncPostgresStore
) -> None:
    for n in range(SESSIONS):
        await store.append(ADA, f"s{n}", [say("m1"), say("m2")])
    await store.checkout(ADA, "s3", "m1")
    with psycopg.connect(server.url()) as raw:
        raw.execute(
            f"DELETE FROM {schema}.segment WHERE home ="
            f" (SELECT home FROM {schema}.session WHERE id = 's3')".encode()
        )
    calls = (store.append(ADA, f"s{n}", [say("m3")]) for n in range(SESSIONS))
    done = await asyncio.gather(*calls, return_exceptions=True)
    failed = [n for n, it in enumerate(done) if isinstance(it, BaseException)]
    assert failed == [3]
    assert isinstance(done[3], StoreError)


async def test_all_are_told_when_the_server_is_gone(
    server: PostgresServer, store: AsyncPostgresStore
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


async def test_rule_01_a_cancelled_caller_waits_for_the_outcome(store: AsyncPostgresStore) -> None:
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


async def test_rule_02_an_id_that_is_given_twice_at_once_is_written_once(
    store: AsyncPostgresStore,
) -> None:
    await asyncio.gather(*(store.append(ADA, f"s{n}", [say("m0")]) for n in range(SESSIONS)))
    calls = [store.append(ADA, f"s{n}", [say("m1")]) for n in range(SESSIONS) for _ in range(3)]
    done = await asyncio.gather(*calls)
    assert sum(it.written for it in done) == SESSIONS
    for n in range(SESSIONS):
        assert len({it.messages[0].depth for it in done[3 * n : 3 * n + 3]}) == 1
        assert await ids_in(store, f"s{n}") == ["m0", "m1"]


async def test_rule_06_a_group_follows_what_is_not_its_sessions_own(
    store: AsyncPostgresStore,
) -> None:
    """A fork's first message, one after a checkout, and one at the root go out with the others."""
    await store.append(ADA, "s0", [say("m1"), say("m2")])
    for n in range(1, 4):
        await store.append(ADA, f"s{n}", [say("m1"), say("m2")])
    await store.checkout(ADA, "s1", "m1")
    await store.create_session(ADA, fork_of("s0", "m2"))
    done = await asyncio.gather(
        store.append(ADA, "fork", [say(None, "new")]),
        *(store.append(ADA, f"s{n}", [say("new")]) for n in range(1, SESSIONS)),
    )
    # The place after the fork point is its source's, free as it is.
    [theirs] = await store.find_messages(ADA, "s0", ["m2"])
    assert theirs is not None
    assert done[0].messages[0].segment != theirs.segment
    assert await ids_in(store, "fork") == ["m1", "m2", done[0].messages[0].id]
    assert await ids_in(store, "s1") == ["m1", "new"]
    assert await ids_in(store, "s2") == ["m1", "m2", "new"]
    assert await ids_in(store, "s9") == ["new"]
    # What the fork inherited is known to it, in a group, too.
    again = await asyncio.gather(
        *(store.append(ADA, name, [say("m2")]) for name in ("fork", "s2", "s3"))
    )
    assert [it.written for it in again] == [0, 0, 0]
    assert await store.admin.check() == []


async def test_64_tasks_go_out_in_two_requests(proxy: Proxy, proxied: str, schema: str) -> None:
    async with open_async_store(proxied, schema, most_connections=2) as store:
        for n in range(64):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say("m0")])
        for round in range(3):
            before = proxy.requests
            done = await asyncio.gather(
                *(store.append(ADA, f"s{n}", [say(f"r{round}")]) for n in range(64))
            )
            assert [it.written for it in done] == [1] * 64
        # By now all that is prepared on the server is.
        assert proxy.requests - before == 2


def test_threads_that_wait_go_out_together(proxy: Proxy, proxied: str, schema: str) -> None:
    with open_store(proxied, schema) as store, ThreadPoolExecutor(20) as threads:
        for n in range(20):
            make_session(store, f"s{n}")
            store.append(ADA, f"s{n}", [say("m0")])
        with ExitStack() as held:
            for _ in range(MOST_SENDERS):
                held.enter_context(store._runner.here()._pool.connection())
        proxy.hold()
        before = proxy.requests
        calls = [threads.submit(store.append, ADA, f"s{n}", [say("m1")]) for n in range(20)]
        while len(store._runner.here()._appends._waiting) < 20 - MOST_SENDERS:
            time.sleep(0.001)
        proxy.release()
        assert [call.result().written for call in calls] == [1] * 20
        # Four by themselves and the others together; what is new on a connection is prepared.
        assert proxy.requests - before <= 2 * MOST_SENDERS + 2
        with pytest.raises(NotFoundError):
            store.append(ADA, "nowhere", [say("m1")])
        assert store.admin.check() == []


def test_an_append_is_one_round_trip(proxy: Proxy, proxied: str, schema: str) -> None:
    with open_store(proxied, schema, most_connections=1) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        calls = (
            lambda n: store.append(ADA, "s", [say(None)]),
            lambda n: store.append(ADA, "s", [say(f"a{n}"), say(f"b{n}")]),
            lambda n: store.append(ADA, "s", [say(f"c{n}")], parent="m0"),
            lambda n: store.append(ADA, "s", [say(f"d{n}")], expected_tip=f"c{n}"),
            lambda n: store.read(ADA, "s", Read(limit=5)),
            lambda n: store.find_session(ADA, "s"),
        )
        for call in calls:
            call(0)
        for call in calls:
            before = proxy.requests
            call(1) if call is not calls[3] else (calls[2](2), call(2))
            assert proxy.requests - before == (2 if call is calls[3] else 1)


def test_a_fork_is_as_many_round_trips_whatever_it_takes_over(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema, most_connections=1) as store:
        make_session(store)
        store.append(ADA, "s", [say(f"m{n}") for n in range(40)])
        took: list[int] = []
        for count in (1, 1, 20):
            for n in range(len(store.list_overlays(ADA, "s")), count):
                store.add_overlay(ADA, "s", cover(f"m{2 * n}", f"m{2 * n + 1}", id=f"o{n}"))
                store.put_document(ADA, f"d{n}", b"x", session="s")
            before = proxy.requests
            store.create_session(ADA, fork_of("s", id=f"fork {len(took)}"))
            took.append(proxy.requests - before)
        assert took[1] == took[2]
        assert len(store.list_overlays(ADA, "fork 2")) == 20


def test_an_interrupted_thread_leaves_the_queue(interrupted_by: Callable[[], None]) -> None:
    gate, sent = threading.Event(), []

    def send(requests: Sequence[Request]) -> list[None]:
        gate.wait()
        sent.append([request.session for request in requests])
        return [None] * len(requests)

    appends = Appends(send)
    request = Request("ada", "s", [], None, None)
    with ThreadPoolExecutor(8) as threads:
        busy = [threads.submit(appends.add, request) for _ in range(MOST_SENDERS)]
        while appends._senders < MOST_SENDERS:
            time.sleep(0.001)
        threads.submit(lambda: [_until(lambda: appends._waiting), interrupted_by()])
        with pytest.raises(KeyboardInterrupt):
            appends.add(request._replace(session="interrupted"))
        last = threads.submit(appends.add, request._replace(session="last"))
        _until(lambda: appends._waiting)
        gate.set()
        for call in (*busy, last):
            assert call.result() is None
    assert sorted(chain(*sent)) == ["last", *["s"] * MOST_SENDERS]
    assert appends._senders == 0


def _until(is_so: Callable[[], object]) -> None:
    while not is_so():
        time.sleep(0.001)


@pytest.fixture
def interrupted_by() -> Callable[[], None]:
    """Give what interrupts this thread, as Ctrl-C does."""
    ident = threading.get_ident()
    if threading.current_thread() is not threading.main_thread():
        pytest.fail("only the main thread can be interrupted")
    return lambda: signal.pthread_kill(ident, signal.SIGINT)


_ONE = "{s}.append_one('ada', 's0', NULL, true, 'x', 'user', 1, NULL, 'x', '')"
_EACH = (
    "{s}.append_each(array_fill('ada'::text, ARRAY[12]), (SELECT array_agg('s' || n)"
    " FROM generate_series(0, 11) n), NULL, array_fill(true, ARRAY[12]),"
    " array_fill('x'::text, ARRAY[12]), array_fill('user'::text, ARRAY[12]),"
    " array_fill(1::bigint, ARRAY[12]), array_fill(NULL::bigint, ARRAY[12]),"
    " array_fill('x'::bytea, ARRAY[12]), array_fill(''::text, ARRAY[12]))"
)
_MANY = (
    "{s}.append('ada', 's0', NULL, '{x,y}', 'm0', false, 'm0', false, '{x,y}', '{user,user}',"
    " '{1,1}', '{NULL,NULL}', '{x,x}', '{a,b}')"
)
_READ = "{s}.read_path('ada', 's0', NULL, false, true, 0, 99999, true, 1)"


@pytest.mark.parametrize("call", [_ONE, _EACH, _MANY, _READ])
async def test_rule_03_a_call_looks_at_as_much_whatever_is_there(
    server: PostgresServer, schema: str, store: AsyncPostgresStore, call: str
) -> None:
    """A plan that was made while the tables were small, and is kept, is good for large ones."""
    for n in range(SESSIONS):
        await store.append(ADA, f"s{n}", [say("m0")])
    with psycopg.connect(server.url()) as raw:
        for _ in range(10):
            few = pages_read(raw, call.replace("{s}", schema))
        for n in range(SESSIONS):
            batch = [say(None, "hello") for _ in range(400)]
            await store.append(ADA, f"s{n}", batch)
            await store.append(ADA, f"s{n}", [say("m1")])
        for _ in range(2):
            # The first one may read the server's catalogue, too.
            many = pages_read(raw, call.replace("{s}", schema).replace("'m0'", "'m1'"))
    # The trees of the indexes are a page or two deeper.
    assert many < 1.7 * few + 10


def pages_read(raw: psycopg.Connection[Any], call: str) -> int:
    """Count the pages that a call looks at, without doing it."""
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT {call}".encode()
    [(found,)] = raw.execute(explain, prepare=False).fetchall()
    raw.rollback()
    return int(found[0]["Plan"]["Shared Hit Blocks"] + found[0]["Plan"]["Shared Read Blocks"])
