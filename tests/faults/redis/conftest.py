"""Servers of one's own for the tests that stop them, and a prefix for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from servers.proxy import Proxy
from servers.redis import DURABLE, RedisServer, program
from servers.redis_cluster import ClusterOfServers

_numbers = count()


def need(request: pytest.FixtureRequest, name: str) -> None:
    if program() is None or program("redis-cli") is None:
        required = request.config.getoption("--require-backends").split(",")
        say = "this needs a Redis that can be stopped: run `make servers`"
        (pytest.fail if name in required else pytest.skip)(say)


@pytest.fixture(autouse=True, scope="package")
def _there_is_one(request: pytest.FixtureRequest) -> None:
    """Skip the tests that start another by themselves, too."""
    need(request, "redis")


@pytest.fixture(scope="package")
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """Start a server that waits for the disk."""
    need(request, "redis")
    server = RedisServer(*DURABLE)
    yield server
    server.remove()


@pytest.fixture(scope="package")
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterOfServers]:
    """Start a cluster whose servers wait for the disk."""
    need(request, "redis_cluster")
    cluster = ClusterOfServers(*DURABLE)
    yield cluster
    cluster.remove()


@pytest.fixture
def prefix() -> str:
    return f"fault_{next(_numbers)}"


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def proxied(proxy: Proxy) -> str:
    return f"redis://127.0.0.1:{proxy.port}/0"
