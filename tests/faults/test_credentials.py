"""Whoever is refused by a server is told so, at once, and not to try again: on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from redis import Redis
from servers.mariadb import MariaDbServer
from servers.postgres import PostgresServer
from servers.process import free_port
from servers.redis_cluster import ClusterOfServers

import sapwood
from sapwood.errors import StoreError, StoreUnavailableError

from .tried import Store, tried

REFUSED = "s3cret"


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> Iterator[PostgresServer]:
    server = PostgresServer("fsync=off")
    yield server
    server.remove()


@pytest.fixture(scope="module")
def mariadb(mariadb_url: str) -> Iterator[MariaDbServer]:
    server = MariaDbServer()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def cluster(redis_cluster_url: str) -> Iterator[ClusterOfServers]:
    servers = ClusterOfServers()
    for server in servers.servers:
        with Redis(port=server.port) as raw:
            raw.execute_command("ACL", "SETUSER", "ada", "on", ">right", "~*", "+@all")
    yield servers
    servers.remove()


def _refused(store: Store, url: str, *words: str) -> None:
    """See that a URL is refused in both twins, for good, and in words without the password."""
    for error in (_refusal(url), asyncio.run(_async_refusal(url))):
        assert type(error) is StoreError
        assert not error.retryable
        assert all(word in str(error) for word in words)
        assert REFUSED not in "".join(map(repr, (error, str(error), error.__cause__)))
        tried(store, "wrong credentials")


def _refusal(url: str) -> StoreError:
    with sapwood.open(url) as sessions, pytest.raises(StoreError) as caught:
        sessions.delete("s")
    return caught.value


async def _async_refusal(url: str) -> StoreError:
    async with sapwood.open_async(url) as sessions:
        with pytest.raises(StoreError) as caught:
            await sessions.delete("s")
    return caught.value


@pytest.mark.parametrize(
    ("store", "scheme"),
    [("PostgreSQL", ""), ("PostgreSQL through SQLAlchemy", "sqlalchemy+")],
)
def test_postgres_refuses_a_password_a_user_and_a_database(
    postgres: PostgresServer, store: Store, scheme: str
) -> None:
    _refused(store, scheme + postgres.url(user=f"needs_password:{REFUSED}"), "refused", "password")
    _refused(store, scheme + postgres.url(user=f"nobody:{REFUSED}"), "refused", "nobody")
    _refused(store, scheme + postgres.url(database="nope"), "no such database", "nope")


def test_mariadb_refuses_a_password_a_user_and_a_database(mariadb: MariaDbServer) -> None:
    _refused("MariaDB", mariadb.url(user=f"needs_password:{REFUSED}"), "refused", "password")
    _refused("MariaDB", mariadb.url(user=f"nobody:{REFUSED}"), "refused", "nobody")
    _refused("MariaDB", mariadb.url(database="nope"), "no such database", "nope")


def test_a_redis_cluster_refuses_a_password(cluster: ClusterOfServers) -> None:
    url = cluster.url().replace("://", f"://ada:{REFUSED}@")
    _refused("Redis", url, "refused", "password")


def test_a_cluster_that_is_not_there_may_come_back() -> None:
    url = f"redis+cluster://127.0.0.1:{free_port()}"
    for error in (_refusal(url), asyncio.run(_async_refusal(url))):
        assert type(error) is StoreUnavailableError
