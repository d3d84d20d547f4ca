"""The servers that can be soaked: how each is started, and its URL when it is at another port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class SoakedServer(NamedTuple):
    """A server with `port`, `kill()`, `start()` and `remove()`, and the URL of a store on it."""

    start: Callable[[], Any]
    url: str
    """With `{port}` where that of the proxy goes, which stands between the clients and it."""


def _postgres() -> Any:
    from servers.postgres import PostgresServer

    return PostgresServer()


def _redis() -> Any:
    from servers.redis import DURABLE, RedisServer

    return RedisServer(*DURABLE)


def _mongodb() -> Any:
    from servers.mongodb import FerretServer

    return FerretServer()


def _mariadb() -> Any:
    from servers.mariadb import MariaDbServer

    return MariaDbServer()


def _opensearch() -> Any:
    from servers.opensearch import OpenSearchNode

    node = OpenSearchNode()
    node.start()
    return node


SERVERS = {
    "postgres": SoakedServer(_postgres, "postgresql://tester@127.0.0.1:{port}/postgres"),
    "redis": SoakedServer(_redis, "redis://127.0.0.1:{port}/0"),
    "mongodb": SoakedServer(_mongodb, "mongodb://127.0.0.1:{port}/soak"),
    "mariadb": SoakedServer(_mariadb, "mariadb://root@127.0.0.1:{port}/sapwood"),
    "opensearch": SoakedServer(_opensearch, "opensearch://127.0.0.1:{port}"),
}
