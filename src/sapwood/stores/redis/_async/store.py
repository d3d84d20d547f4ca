"""The Redis store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from ....rules.codec import MAX_MESSAGE_BYTES
from ....store import Capability
from ...base._async.runner import AsyncPerLoopRunner
from ...base._async.store import AsyncBaseStore
from ...base.refusals import url_or_client
from ...url import take_parameters
from ..options import (
    AsyncConnectionSlots,
    AsyncRedisDriver,
    check_client,
    check_prefix,
    check_ttl,
    check_url,
    read_ttl,
)
from ..rows import PREFIX, RedisKeys
from .client import AsyncRedisClient
from .runner import AsyncRedisRunner

MOST_CONNECTIONS = 16
PATIENCE_S = 30.0
ANSWER_WITHIN_S = 30.0


class AsyncRedisStore(AsyncBaseStore):
    """Sessions in Redis, on one server or a cluster.

    Takes a URL (`redis`, `rediss`, `redis+cluster` or `rediss+cluster`) or a client, which stays
    its giver's to close. It connects with the first call. Time is the server's, unless a clock is
    given. With `session_ttl_s`, a chat that nobody appended to for that long is deleted.
    """

    capabilities = frozenset({Capability.DURABLE, Capability.SHARED, Capability.DATA})
    _runner: AsyncPerLoopRunner[AsyncRedisRunner]

    def __init__(
        self,
        url: str | None = None,
        *,
        client: Any = None,
        new_id: Callable[[], str],
        prefix: str = PREFIX,
        clock: Callable[[], int] | None = None,
        auto_migrate: bool = True,
        session_ttl_s: float | None = None,
        patience_s: float = PATIENCE_S,
        answer_within_s: float = ANSWER_WITHIN_S,
        most_connections: int = MOST_CONNECTIONS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        if (url is None) == (client is None):
            raise url_or_client()
        if url is None:
            is_cluster = check_client(client, AsyncRedisDriver)
        else:
            url, is_cluster = check_url(url)
        keys, ttl_us = RedisKeys(check_prefix(prefix)), check_ttl(session_ttl_s)

        connect = partial(
            AsyncRedisDriver.connect,
            str(url),
            is_cluster=is_cluster,
            most=most_connections,
            patience_s=patience_s,
            answer_within_s=answer_within_s,
        )

        def runner() -> AsyncRedisRunner:
            return AsyncRedisRunner(
                AsyncRedisClient(
                    connect if client is None else lambda: client,
                    is_cluster=is_cluster,
                    owns_client=client is None,
                    slots=AsyncConnectionSlots(most_connections, patience_s),
                ),
                keys=keys,
                clock=clock,
                new_id=new_id,
                auto_migrate=auto_migrate,
                ttl_us=ttl_us,
                max_message_bytes=max_message_bytes,
            )

        super().__init__(
            AsyncPerLoopRunner(runner, given="" if client is None else "client"),
            new_id=new_id,
            max_message_bytes=max_message_bytes,
        )

    @classmethod
    def from_url(cls, url: str, *, new_id: Callable[[], str], **options: Any) -> Self:
        """Take our own parameters, `prefix` and `ttl`, out of a URL; others are the driver's."""
        address, ours = take_parameters(url, {"prefix", "ttl"})
        return cls(
            address,
            new_id=new_id,
            prefix=ours.get("prefix", PREFIX),
            session_ttl_s=read_ttl(ours.get("ttl")),
            **options,
        )
