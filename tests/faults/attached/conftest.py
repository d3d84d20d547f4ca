"""A search index's server of one's own for the tests that stop it, and a prefix for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from servers.opensearch import OpenSearchNode, is_there
from servers.proxy import Proxy

_numbers = count()


@pytest.fixture(scope="package")
def node(request: pytest.FixtureRequest) -> Iterator[OpenSearchNode]:
    """Start a server that waits for the disk, as those of users do."""
    if not is_there():
        required = request.config.getoption("--require-backends").split(",")
        say = "this needs an OpenSearch that can be stopped: run `make servers`"
        (pytest.fail if "opensearch" in required else pytest.skip)(say)
    node = OpenSearchNode()
    try:
        node.start()
        yield node
    finally:
        node.remove()


@pytest.fixture
def prefix() -> str:
    return f"fault-{next(_numbers)}"


@pytest.fixture
def proxy(node: OpenSearchNode) -> Iterator[Proxy]:
    proxy = Proxy(node.port)
    yield proxy
    proxy.close()
