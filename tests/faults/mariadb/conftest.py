"""A server of one's own for the tests that stop it, and a prefix for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from servers.mariadb import MariaDbServer
from servers.postgres import PostgresServer, program
from servers.proxy import Proxy

from .support import Place

_numbers = count()


@pytest.fixture(scope="package")
def server(request: pytest.FixtureRequest) -> Iterator[MariaDbServer]:
    """Start a server that waits for the disk, as those of users do."""
    if shutil.which("mariadbd") is None:
        required = request.config.getoption("--require-backends").split(",")
        say = "this needs a MariaDB that can be stopped: run `make servers`"
        (pytest.fail if "mariadb" in required else pytest.skip)(say)
    server = MariaDbServer("--innodb-flush-log-at-trx-commit=1")
    yield server
    server.remove()


@pytest.fixture(scope="package")
def postgres(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """Start a PostgreSQL that is reached through SQLAlchemy."""
    if program("postgres") is None:
        required = request.config.getoption("--require-backends").split(",")
        say = "this needs a PostgreSQL that can be stopped: run `make servers`"
        (pytest.fail if "postgres" in required else pytest.skip)(say)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(params=["mariadb", "postgres", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Give each database that the store is tried on."""
    if request.param == "sqlite":
        return Place("SQLite through SQLAlchemy", f"sqlalchemy+sqlite:///{tmp_path}/s.db")
    if request.param == "mariadb":
        return Place("MariaDB", request.getfixturevalue("server").url())
    url = request.getfixturevalue("postgres").url()
    return Place("PostgreSQL through SQLAlchemy", f"sqlalchemy+{url}")


@pytest.fixture(params=["mariadb", "postgres"])
def proxied_place(request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, Place]]:
    """Give a proxy to each server, and the way through it."""
    is_mariadb = request.param == "mariadb"
    server = request.getfixturevalue("server" if is_mariadb else "postgres")
    proxy = Proxy(server.port)
    url = server.url().replace(str(server.port), str(proxy.port))
    if is_mariadb:
        yield proxy, Place("MariaDB", url)
    else:
        yield proxy, Place("PostgreSQL through SQLAlchemy", f"sqlalchemy+{url}")
    proxy.close()


@pytest.fixture
def prefix() -> str:
    return f"fault_{next(_numbers)}_"


@pytest.fixture
def proxy(server: MariaDbServer) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def proxied(proxy: Proxy) -> str:
    return f"mariadb://root@127.0.0.1:{proxy.port}/sapwood"
