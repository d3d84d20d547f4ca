"""A server of one's own for the tests that stop it, and a database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from servers.mongodb import PROGRAM, FerretServer
from servers.proxy import Proxy

_numbers = count()


@pytest.fixture(scope="package")
def server(request: pytest.FixtureRequest) -> Iterator[FerretServer]:
    if not PROGRAM.exists():
        required = request.config.getoption("--require-backends").split(",")
        say = "this needs a FerretDB that can be stopped: run `make servers`"
        (pytest.fail if "mongodb" in required else pytest.skip)(say)
    server = FerretServer()
    yield server
    server.remove()


@pytest.fixture
def database() -> str:
    return f"fault_{next(_numbers)}"


@pytest.fixture
def proxy(server: FerretServer) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def proxied(proxy: Proxy) -> str:
    # The driver's own look-out for the server must not use up what the proxy is told to do.
    return f"mongodb://127.0.0.1:{proxy.port}/?heartbeatFrequencyMS=600000&directConnection=true"
