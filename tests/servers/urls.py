"""The URL of an emptied store on each kind of server, for tests that run on all of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

VARIABLES = {
    "DATABASE_URL": "postgres",
    "REDIS_URL": "redis",
    "MONGODB_URL": "mongodb",
    "MARIADB_URL": "mariadb",
    "OPENSEARCH_URL": "opensearch",
}
"""What the examples of the documentation read, and the server that it stands for."""

SERVERS = tuple(VARIABLES.values())


def emptied(name: str, request: pytest.FixtureRequest) -> str:
    """Empty what this process of tests has on a server, and give the URL to open it by."""
    address: str = request.getfixturevalue(f"{name}_url")
    server: Any = import_module(f"servers.{name}")
    server.empty()
    if name == "mongodb":
        return f"{address.rstrip('/')}/{server.database()}"
    own = f"schema={server.schema()}" if name == "postgres" else f"prefix={server.prefix()}"
    return f"{address}{'&' if '?' in address else '?'}{own}"


def for_examples(name: str, request: pytest.FixtureRequest) -> str:
    """Give the URL for a page's examples; those of OpenSearch name their own prefix, `docs...`."""
    if name != "opensearch":
        return emptied(name, request)
    address: str = request.getfixturevalue("opensearch_url")
    server: Any = import_module("servers.opensearch")
    server.admin().indices.delete(index="docs*")
    return address
