"""The OpenSearch store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from opensearchpy import AsyncOpenSearch

from ....errors import StoreCorruptError
from ....rules.codec import MAX_MESSAGE_BYTES
from ....store import Capability
from ....store._async.contract import AsyncStore
from ...base._async.runner import AsyncPerLoopRunner
from ...base._async.store import AsyncBaseStore
from ...base.refusals import url_or_client
from ...recordlog._async.runner import AsyncLogRunner
from ...searched._async.source import AsyncSource, SourceContent, Standpoint, WantedEntries
from ...searched._async.store import AsyncDelegatingStore, AsyncSearchedStore
from ..address import MOST_CONNECTIONS, PREFIX, TIMEOUT_S, read_address, read_options
from .driver import AsyncOpenSearchDriver
from .index import AsyncOpenSearchIndex
from .wire import AsyncWire


class AsyncRecordSource(AsyncSource):
    """What the search index is filled from: the records beside it, many sessions at once.

    It asks the record log, whose states were brought up to date when its feed was followed.
    """

    def __init__(self, store: AsyncStore, runner: AsyncPerLoopRunner[AsyncLogRunner]) -> None:
        super().__init__(store)
        self._runner = runner

    async def standpoint(self, owner: str, session: str) -> Standpoint:
        """Get a session as it is remembered."""
        unit = await self._runner.here().ready_unit()
        return Standpoint(*await unit.index_reads.standpoint(owner, session))

    async def kind(self, owner: str, session: str) -> str | None:
        """Find the kind of a session as it is remembered."""
        unit = await self._runner.here().ready_unit()
        return await unit.index_reads.kind(owner, session)

    async def look(
        self, owner: str, wanted: WantedEntries, *, as_followed: bool = False
    ) -> dict[str, SourceContent]:
        """Look at all sessions at once; one by one where something cannot be decoded."""
        unit = await self._runner.here().ready_unit()
        try:
            found = await unit.index_reads.look(owner, wanted, as_followed)
        except StoreCorruptError:
            return await super().look(owner, wanted)
        return {session: SourceContent(*it) for session, it in found.items()}


class _AsyncRecordStore(AsyncBaseStore):
    """The sessions themselves."""

    capabilities = frozenset({Capability.DURABLE, Capability.SHARED, Capability.DATA})


class AsyncOpenSearchStore(AsyncDelegatingStore):
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
        options = None if url is None else read_address(url)[0]
        wire = AsyncWire(
            options, client, answer_within_s=answer_within_s, most_connections=most_connections
        )
        layout: dict[str, Any] = {"shards": shards, "replicas": replicas}
        index = AsyncOpenSearchIndex(wire=wire, prefix=prefix, **layout)

        def runner() -> AsyncLogRunner:
            log = AsyncOpenSearchDriver(
                wire, index, new_id=new_id, prefix=prefix, refresh=refresh, **layout
            )
            return AsyncLogRunner(log, new_id=new_id, clock=clock, auto_migrate=auto_migrate)

        runners = AsyncPerLoopRunner(runner)
        records = _AsyncRecordStore(runners, new_id=new_id, max_message_bytes=max_message_bytes)
        source = AsyncRecordSource(records, runners)
        super().__init__(AsyncSearchedStore(records, index, source=source))

    @classmethod
    def from_url(cls, url: str, *, new_id: Callable[[], str], **options: Any) -> Self:
        """Make one from a URL; `prefix`, `refresh`, `shards` and `replicas` are ours."""
        return cls(new_id=new_id, **read_options(url, refresh="false"), **options)
