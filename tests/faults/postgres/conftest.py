"""A server of one's own for the tests that stop it, and a schema for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from servers.postgres import PostgresServer, program
from servers.proxy import Proxy

_numbers = count()


@pytest.fixture(scope="package")
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """Start a server that waits for the disk, as those of users do."""
    if program("postgres") is None:
        required = request.config.getoption("--require-backends").split(",")
        say = "this needs a PostgreSQL that can be stopped: run `make servers`"
        (pytest.fail if "postgres" in required else pytest.skip)(say)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def schema() -> str:
    return f"fault_{next(_numbers)}"


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def proxied(proxy: Proxy) -> str:
    return f"postgresql://tester@127.0.0.1:{proxy.port}/postgres"
