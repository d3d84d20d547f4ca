"""Behind PgBouncer, which gives each transaction another connection of the server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg_pool import ConnectionPool
from servers.pgbouncer import MISSING, PgBouncer
from servers.postgres import PostgresServer

from sapwood.errors import ClosedError, StaleTipError
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
