"""The PostgreSQL store on an event loop: on a pool that is given, and behind PgBouncer."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool
from servers import postgres
from servers.pgbouncer import MISSING, PgBouncer
from servers.postgres import PostgresServer

from sapwood.errors import AlreadyExistsError, ClosedError, StaleTipError
from sapwood.model import NewSession, Read, Search
from sapwood.rules.ids import IdMaker
from sapwood.stores.postgres import AsyncPostgresStore
from sapwood.testing.makers import ADA, say, shown

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)
# Of this store alone: what others prepared through a pooler stays with the server's connections.
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%\"prepared\".%'"


async def test_a_pool_that_is_given_is_used_and_left_open(postgres_url: str) -> None:
    postgres.empty()
    async with AsyncConnectionPool(postgres_url, min_size=1, max_size=1, open=False) as pool:
        store = AsyncPostgresStore(pool=pool, schema=postgres.schema(), new_id=new_id)
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")])
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("m2")], expected_tip="m0")
        assert shown(await store.read(ADA, "s", Read())) == ["m1"]
        # All of it went through the one connection there is.
        assert pool.get_stats()["requests_num"] >= 4
        await store.aclose()
        with pytest.raises(ClosedError):
            await store.find_session(ADA, "s")
        assert not pool.closed
        async with pool.connection() as raw:
            assert not raw.autocommit
            answer = await raw.execute("SELECT 1")
            assert await answer.fetchone() == (1,)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """Start a server of our own, which a pooler can stand before."""
    if postgres.program("postgres") is None:
        required = request.config.getoption("--require-backends").split(",")
        (pytest.fail if "postgres" in required else pytest.skip)(postgres.MISSING)
    server = PostgresServer("fsync=off")
    yield server
    server.remove()


@pytest.fixture(scope="module")
def pooler(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[PgBouncer]:
    try:
        pooler = PgBouncer(server.port)
    except FileNotFoundError:
        required = request.config.getoption("--require-backends").split(",")
        (pytest.fail if "postgres" in required else pytest.skip)(MISSING)
    yield pooler
    pooler.remove()


async def write(store: AsyncPostgresStore, session: str) -> list[Any]:
    await store.create_session(ADA, NewSession(id=session))
    for n in range(20):
        await store.append(ADA, session, [say(f"m{n}")])
        await store.find_session(ADA, session)
    await store.checkout(ADA, session, "m9")
    await store.search(ADA, Search(text="m3", session=session))
    return shown(await store.read(ADA, session, Read()))


async def test_many_tasks_share_two_connections_of_a_pooler(pooler: PgBouncer) -> None:
    async with AsyncPostgresStore(pooler.url(), schema="shared", new_id=new_id) as store:
        found = await asyncio.gather(*(write(store, f"s{n}") for n in range(8)))
        assert found == [[f"m{n}" for n in range(10)]] * 8
        assert await store.admin.check() == []


async def test_nothing_is_prepared_through_a_pooler_and_much_without_one(
    server: PostgresServer, pooler: PgBouncer
) -> None:
    for url, is_prepared in ((pooler.url(), False), (server.url(), True)):
        async with AsyncPostgresStore(
            url, schema="prepared", new_id=new_id, most_connections=1
        ) as store:
            try:
                await store.create_session(ADA, NewSession(id="s"))
            except AlreadyExistsError:
                assert is_prepared
            for _ in range(10):
                await store.append(ADA, "s", [say(None)])
            async with store._runner.here()._pool.connection() as raw:
                found = await (await raw.execute(PREPARED)).fetchone()
        assert (found > (0,)) == is_prepared


async def test_a_pool_that_prepares_through_a_pooler_is_worked_with(pooler: PgBouncer) -> None:
    """Statements that the server does not know, or that another client prepared, are told."""
    async with AsyncConnectionPool(pooler.url(), min_size=8, max_size=8, open=False) as pool:
        store = AsyncPostgresStore(pool=pool, schema="prepares", new_id=new_id)
        found = await asyncio.gather(*(write(store, f"s{n}") for n in range(8)))
        assert found == [[f"m{n}" for n in range(10)]] * 8
        assert not store._runner.here()._prepares
        await store.aclose()
