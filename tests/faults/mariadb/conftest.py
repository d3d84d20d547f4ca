"""A server of one's own for the tests that stop it, and a prefix for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count

import pytest
from servers.mariadb import MariaDbServer
from servers.proxy import Proxy

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
