"""The URL of an emptied store on each kind of server, for tests that run on all of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from .url import with_database, with_parameters

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
        return with_database(address, server.database())
    if name == "postgres":
        return with_parameters(address, schema=server.schema())
    return with_parameters(address, prefix=server.prefix())
