"""The MongoDB store."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import parse_qsl

from pymongo import AsyncMongoClient
from pymongo.errors import ConfigurationError, PyMongoError

from ....errors import UsageError
from ....rules.codec import MAX_MESSAGE_BYTES
from ....store import Capability
from ...base._async.runner import AsyncPerLoopRunner
from ...base._async.store import AsyncBaseStore
from ...recordlog._async.runner import AsyncLogRunner
from ...url import take_parameters
from .driver import AsyncMongoDriver

DATABASE = "sapwood"
PREFIX = "sapwood_"
PATIENCE_S = 30.0
ANSWER_WITHIN_S = 120.0
MOST_CONNECTIONS = 16
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}", re.ASCII)


class AsyncMongoStore(AsyncBaseStore):
    """Sessions in collections of a MongoDB database.

    Takes a connection string or a client, which stays its giver's to close. It connects with the
    first call. Time is the server's, unless a clock is given.
    """

    capabilities = frozenset({Capability.DURABLE, Capability.SHARED, Capability.DATA})
    _runner: AsyncPerLoopRunner[AsyncLogRunner]

    def __init__(
        self,
        url: str | None = None,
        *,
        client: AsyncMongoClient[Any] | None = None,
        new_id: Callable[[], str],
        database: str | None = None,
        prefix: str = PREFIX,
        clock: Callable[[], int] | None = None,
        auto_migrate: bool = True,
        patience_s: float = PATIENCE_S,
        answer_within_s: float = ANSWER_WITHIN_S,
        most_connections: int = MOST_CONNECTIONS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        if (url is None) == (client is None):
            raise UsageError("give a connection string or a client", path="url")
        _check_name(prefix, "prefix")
        if database is not None:
            _check_name(database, "database")

        def runner() -> AsyncLogRunner:
            used = client or _client(url or "", patience_s, answer_within_s, most_connections)
            log = AsyncMongoDriver(
                used,
                owns_client=client is None,
                database=database or _default_database(used),
                prefix=prefix,
            )
            return AsyncLogRunner(log, new_id=new_id, clock=clock, auto_migrate=auto_migrate)

        super().__init__(
            AsyncPerLoopRunner(runner, given="" if client is None else "client"),
            new_id=new_id,
            max_message_bytes=max_message_bytes,
        )

    @classmethod
    def from_url(cls, url: str, *, new_id: Callable[[], str], **options: Any) -> Self:
        """Take our own parameter, `prefix`, out of a URL; the others are the driver's."""
        theirs, ours = take_parameters(url, {"prefix"})
        return cls(theirs, new_id=new_id, prefix=ours.get("prefix", PREFIX), **options)


def _client(
    url: str, patience_s: float, answer_within_s: float, most_connections: int
) -> AsyncMongoClient[Any]:
    ours: dict[str, Any] = {
        "maxPoolSize": most_connections,
        "serverSelectionTimeoutMS": round(patience_s * 1000),
        "waitQueueTimeoutMS": round(patience_s * 1000),
        # Without it the driver waits for ever for a network that is gone.
        "socketTimeoutMS": round(answer_within_s * 1000),
        "appname": "sapwood",
    }
    # The driver would let ours count for more than what the user wrote into the URL.
    written = {name.lower() for name, _ in parse_qsl(url.partition("?")[2])}
    options = {name: value for name, value in ours.items() if name.lower() not in written}
    try:
        return AsyncMongoClient(url, connect=False, tz_aware=True, **options)
    except (PyMongoError, ValueError):
        raise UsageError(
            "the connection string cannot be read: use mongodb://user:password@host:port/database",
            path="url",
        ) from None


def _default_database(client: AsyncMongoClient[Any]) -> str:
    try:
        return client.get_default_database(DATABASE).name
    except ConfigurationError:
        return DATABASE


def _check_name(name: str, what: str) -> None:
    """Refuse what cannot be a name, before there is a client that would have to be closed."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise UsageError(f"{what} must be 1 to 60 letters, digits, _ or -, not {name!r}", path=what)
