"""What a fork costs on a server: a few round trips, whatever it takes over."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import pytest
from servers import postgres
from servers.proxy import Proxy
from servers.sql import MariaDb

from sapwood.model import Edge, EdgeKind, ForkPoint, NewSession
from sapwood.rules.ids import IdMaker
from sapwood.session import AsyncSessionManager
from sapwood.stores.postgres import AsyncPostgresStore, PostgresStore
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, SqlAlchemyStore
from sapwood.testing.makers import ADA, cover, fork_of, say

MOST_TRIPS = 6
WARMED_UP = 12
"""How often a fork is made before one is counted: by then what is prepared once is."""

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)
_ids = count()


class Watched(NamedTuple):
    store: PostgresStore | SqlAlchemyStore
    proxy: Proxy

    def fork(self, source: str, message: str | None) -> tuple[str, int]:
        """Fork as a session does; return the fork's id, and how many round trips it took."""
        for _ in range(WARMED_UP + 1):
            new = NewSession(
                id=f"fork {next(_ids)}",
                parent=Edge(kind=EdgeKind.BRANCH, session=source),
                fork=ForkPoint(session=source, message=message),
            )
            before = self.proxy.requests
            made = self.store.create_session(ADA, new)
            trips = self.proxy.requests - before
        assert made.tip == message or message is None
        return made.id, trips


class Server(NamedTuple):
    url: str
    """Leads through the proxy."""
    proxy: Proxy
    is_postgres: bool


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Reach a server through a proxy, which counts what it is asked."""
    url = request.getfixturevalue(f"{request.param}_url")
    is_postgres = request.param == "postgres"
    if is_postgres:
        postgres.empty()
    else:
        url = MariaDb().url()
    host, port = re.findall(r"@([^:/]+):(\d+)", url)[0]
    if host not in ("127.0.0.1", "localhost"):
        pytest.skip("the proxy is for a server on this machine")
    proxy = Proxy(int(port))
    yield Server(url.replace(f":{port}/", f":{proxy.port}/"), proxy, is_postgres)
    proxy.close()


@pytest.fixture
def watched(server: Server) -> Iterator[Watched]:
    with (
        PostgresStore(server.url, schema=postgres.schema(), new_id=new_id, most_connections=1)
        if server.is_postgres
        else SqlAlchemyStore.from_url(server.url, new_id=new_id)
    ) as store:
        store.create_session(ADA, NewSession(id="s", tags=["a"], budget=9))
        store.append(ADA, "s", [say(f"m{n}") for n in range(40)])
        yield Watched(store, server.proxy)


@pytest.mark.parametrize("message", [None, "m10"])
def test_a_fork_is_at_most_six_round_trips(watched: Watched, message: str | None) -> None:
    _, trips = watched.fork("s", message)
    assert trips <= MOST_TRIPS


@pytest.mark.parametrize("message", [None, "m30"])
def test_a_fork_is_as_many_whatever_it_takes_over(watched: Watched, message: str | None) -> None:
    store = watched.store
    for n in range(5):
        store.add_overlay(ADA, "s", cover(f"m{4 * n}", f"m{4 * n + 2}", id=f"o{n}"))
        store.put_document(ADA, f"d{n}", b"x", session="s")
    store.put_document(ADA, "pins", b'["m1", "m9"]', session="s")
    fork, trips = watched.fork("s", message)
    assert len(store.list_overlays(ADA, fork)) == 5
    assert len(store.list_documents(ADA, session=fork)) == 6
    assert store.admin.check() == []
    assert trips <= MOST_TRIPS


@pytest.mark.parametrize("message", [None, "f0", "m30"])
def test_a_fork_of_a_fork_is_as_many(watched: Watched, message: str | None) -> None:
    store = watched.store
    store.add_overlay(ADA, "s", cover("m2", "m5", id="o"))
    store.create_session(ADA, fork_of("s", "m35", id="f"))
    store.append(ADA, "f", [say(f"f{n}") for n in range(3)])
    store.add_overlay(ADA, "f", cover("m10", "m12", id="own"))
    _, trips = watched.fork("f", message)
    assert store.admin.check() == []
    assert trips <= MOST_TRIPS


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_a_detached_fork_on_postgresql_adds_its_overlays_together(watched: Watched) -> None:
    store = watched.store
    took: list[int] = []
    for many in (1, 8):
        for n in range(len(took), many):
            store.add_overlay(ADA, "s", cover(f"m{2 * n}", f"m{2 * n + 1}", id=f"o{n}"))
        for _ in range(2):
            before = watched.proxy.requests
            made = store.create_session(ADA, fork_of("s", id=f"copy {next(_ids)}", detach=True))
        took.append(watched.proxy.requests - before)
        assert len(store.list_overlays(ADA, made.id)) == many
    assert took[0] == took[1]


@pytest.mark.parametrize(
    ("server", "driver"),
    [("postgres", "psycopg"), ("mariadb", "aiomysql"), ("mariadb", "asyncmy")],
    indirect=["server"],
)
async def test_a_fork_by_a_session_is_as_many_in_the_async_twin(
    server: Server, driver: str
) -> None:
    url = server.url.replace("mariadb://", f"sqlalchemy+mariadb+{driver}://")
    async with (
        AsyncPostgresStore(url, schema=postgres.schema(), new_id=new_id, most_connections=1)
        if server.is_postgres
        else AsyncSqlAlchemyStore.from_url(url, new_id=new_id)
    ) as store:
        session = await AsyncSessionManager(store, owner=ADA, new_id=new_id).create("s")
        await session.append_all([say(f"m{n}") for n in range(40)])
        await store.add_overlay(ADA, "s", cover("m2", "m5", id="o"))
        await store.put_document(ADA, "pins", b'["m3"]', session="s")
        for message in (None, "m10"):
            for _ in range(WARMED_UP + 1):
                before = server.proxy.requests
                fork = await session.fork(message=message)
                trips = server.proxy.requests - before
            assert trips <= MOST_TRIPS
            assert (await fork.record()).tip == (message or "m39")
        assert await store.admin.check() == []
