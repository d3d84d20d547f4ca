"""The OpenSearch store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from opensearchpy import AsyncOpenSearch

from ....rules.codec import MAX_MESSAGE_BYTES
from ....store import Capability
from ...base._async.runner import AsyncPerLoopRunner
from ...base._async.store import AsyncBaseStore
from ...base.refusals import url_or_client
from ...recordlog._async.runner import AsyncLogRunner
from ...searched._async.store import AsyncSearchedStore
from ..address import MOST_CONNECTIONS, PREFIX, TIMEOUT_S, check_prefix, flag, read_address, whole
from .driver import AsyncOpenSearchDriver
from .index import AsyncOpenSearchIndex
from .source import AsyncRecordSource
from .wire import AsyncWire

PARAMETERS = {"prefix", "refresh", "shards", "replicas"}


class _AsyncRecordStore(AsyncBaseStore):
    """The sessions themselves."""

    capabilities = frozenset({Capability.DURABLE, Capability.SHARED})


class AsyncOpenSearchStore(AsyncSearchedStore):
    """Sessions in indices of an OpenSearch cluster, with a search index beside them.

    Takes a URL or a client, which stays its giver's to close. It connects with the first call.
    Time is a server's, unless a clock is given. With `refresh`, what was written is seen by every
    question at once, for a price; without it, by what asks by name, which is all that a session's
    own reads need.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        client: AsyncOpenSearch | None = None,
        new_id: Callable[[], str],
        prefix: str = PREFIX,
        refresh: bool = False,
        shards: int = 1,
        replicas: int | None = None,
        clock: Callable[[], int] | None = None,
        auto_migrate: bool = True,
        answer_within_s: float = TIMEOUT_S,
        most_connections: int = MOST_CONNECTIONS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        if (url is None) == (client is None):
            raise url_or_client()
        options = None if url is None else read_address(url, frozenset()).client
        wire = AsyncWire(
            options, client, answer_within_s=answer_within_s, most_connections=most_connections
        )
        layout: dict[str, Any] = {"shards": shards, "replicas": replicas}
        index = AsyncOpenSearchIndex(wire=wire, prefix=prefix, **layout)
        check_prefix(prefix)

        def runner() -> AsyncLogRunner:
            log = AsyncOpenSearchDriver(
                wire, index, new_id=new_id, prefix=prefix, refresh=refresh, **layout
            )
            return AsyncLogRunner(log, new_id=new_id, clock=clock, auto_migrate=auto_migrate)

        runners = AsyncPerLoopRunner(runner)
        records = _AsyncRecordStore(runners, new_id=new_id, max_message_bytes=max_message_bytes)
        super().__init__(records, index, source=AsyncRecordSource(records, runners))

    @classmethod
    def from_url(cls, url: str, *, new_id: Callable[[], str]) -> Self:
        """Make one from a URL; `prefix`, `refresh`, `shards` and `replicas` are ours."""
        given = read_address(url, PARAMETERS).parameters
        return cls(
            url.partition("?")[0],
            new_id=new_id,
            prefix=given.get("prefix", PREFIX),
            refresh=flag(given.get("refresh", "false"), "refresh"),
            shards=whole(given.get("shards", "1"), "shards", 1, 1_000),
            replicas=whole(given["replicas"], "replicas", 0, 10) if "replicas" in given else None,
        )
