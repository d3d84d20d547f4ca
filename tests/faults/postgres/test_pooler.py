"""Behind PgBouncer, which gives each transaction another connection of the server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg_pool import ConnectionPool
from servers.pgbouncer import MISSING, PgBouncer
from servers.postgres import PostgresServer

from sapwood.errors import AlreadyExistsError, ClosedError, StaleTipError
from sapwood.model import Search
from sapwood.stores.postgres import PostgresStore

from .support import ADA, ids_in, make_session, new_id, open_store, say


@pytest.fixture
def pooler(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[PgBouncer]:
    try:
        pooler = PgBouncer(server.port)
    except FileNotFoundError:
        required = request.config.getoption("--require-backends").split(",")
        (pytest.fail if "postgres" in required else pytest.skip)(MISSING)
    yield pooler
    pooler.remove()


def test_many_threads_share_two_connections(pooler: PgBouncer, schema: str) -> None:
    with open_store(pooler.url(), schema) as store:
        sessions = [f"s{n}" for n in range(8)]
        for session in sessions:
            make_session(store, session)

        def write(session: str) -> list[str]:
            for n in range(20):
                store.append(ADA, session, [say(f"m{n}")])
                store.find_session(ADA, session)
            store.checkout(ADA, session, "m9")
            store.search(ADA, Search(text="m3", session=session))
            return ids_in(store, session)

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(write, sessions))
        assert found == [[f"m{n}" for n in range(10)]] * len(sessions)
        assert store.admin.check() == []


def test_nothing_is_prepared_through_a_pooler_and_much_without_one(
    server: PostgresServer, pooler: PgBouncer, schema: str
) -> None:
    prepared = "SELECT count(*) FROM pg_prepared_statements"
    for url, is_prepared in ((pooler.url(), False), (server.url(), True)):
        with open_store(url, schema, most_connections=1) as store:
            with contextlib.suppress(AlreadyExistsError):
                make_session(store)
            for _ in range(10):
                store.append(ADA, "s", [say(None)])
            with store._runner.here()._pool.connection() as raw:
                found = raw.execute(prepared).fetchone()
        assert (found > (0,)) == is_prepared


def test_a_pool_that_prepares_through_a_pooler_is_worked_with(
    pooler: PgBouncer, schema: str
) -> None:
    """Statements that the server does not know, or that another client prepared, are told."""
    with ConnectionPool(pooler.url(), min_size=8, max_size=8, open=True) as pool:
        store = PostgresStore(pool=pool, schema=schema, new_id=new_id)
        for n in range(8):
            make_session(store, f"s{n}")

        def write(n: int) -> list[str]:
            for k in range(20):
                store.append(ADA, f"s{n}", [say(f"m{k}")])
            return ids_in(store, f"s{n}")

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(write, range(8))) == [[f"m{k}" for k in range(20)]] * 8
        assert not store._runner.here()._prepares
        store.close()


def test_a_pool_that_is_given_is_used_and_left_open(server: PostgresServer, schema: str) -> None:
    with ConnectionPool(server.url(), min_size=1, max_size=1) as pool:
        store = PostgresStore(pool=pool, schema=schema, new_id=new_id)
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        assert ids_in(store) == ["m1"]
        with pytest.raises(StaleTipError):
            store.append(ADA, "s", [say("m2")], expected_tip="m0")
        store.close()
        with pytest.raises(ClosedError):
            store.find_session(ADA, "s")
        with pool.connection() as raw:
            assert not raw.autocommit
            assert raw.execute("SELECT 1").fetchone() == (1,)
