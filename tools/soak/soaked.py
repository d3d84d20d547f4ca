"""The servers that can be soaked: how each is started, and its URL when it is at another port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from servers.postgres import PostgresServer


class Soaked(NamedTuple):
    """A server with `port`, `kill()`, `start()` and `remove()`, and the URL of a store on it."""

    start: Callable[[], Any]
    url: str
    """With `{port}` where that of the proxy goes, which stands between the clients and it."""


SERVERS = {
    "postgres": Soaked(PostgresServer, "postgresql://tester@127.0.0.1:{port}/postgres"),
}
