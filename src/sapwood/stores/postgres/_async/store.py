"""The PostgreSQL store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from psycopg_pool import AsyncConnectionPool

from ....errors import UsageError
from ....model import Changes, History, Read, SessionRecord
from ....rules import check
from ....rules.codec import MAX_MESSAGE_BYTES
from ....store import Capability
from ...base._async.runner import AsyncPerLoopRunner
from ...base._async.store import AsyncBaseStore
from ...url import take_parameters
from ..migration import SCHEMA, check_partitions, check_schema
from .runner import MOST_CONNECTIONS, AsyncPostgresRunner, check_conninfo

PATIENCE_S = 30.0
ANSWER_WITHIN_S = 120.0
# The server takes less than 1 GB at once, and needs some of that for itself.
MOST_MESSAGE_BYTES = 256 * 1024 * 1024
FEED_TRIES = 100
FEED_PAUSE_S = 0.005


class AsyncPostgresStore(AsyncBaseStore):
    """Sessions in a schema of a PostgreSQL database.

    Takes a connection string or a pool, which stays its giver's to open and close. It connects
    with the first call. Time is the server's, unless a clock is given. Where there is no schema
    yet, its tables of trees are made of so many `partitions` by the tree's hash.
    """

    capabilities = frozenset({Capability.DURABLE, Capability.SHARED, Capability.DATA})
    _runner: AsyncPerLoopRunner[AsyncPostgresRunner]

    def __init__(
        self,
        conninfo: str | None = None,
        *,
        pool: AsyncConnectionPool[Any] | None = None,
        new_id: Callable[[], str],
        schema: str = SCHEMA,
        partitions: int = 0,
        clock: Callable[[], int] | None = None,
        auto_migrate: bool = True,
        patience_s: float = PATIENCE_S,
        answer_within_s: float | None = ANSWER_WITHIN_S,
        most_connections: int = MOST_CONNECTIONS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        if (conninfo is None) == (pool is None):
            raise UsageError("give a connection string or a pool", path="conninfo")
        if max_message_bytes > MOST_MESSAGE_BYTES:
            raise UsageError(
                f"max_message_bytes can be up to {MOST_MESSAGE_BYTES}: PostgreSQL takes no more",
                path="max_message_bytes",
            )
        make = partial(
            AsyncPostgresRunner,
            None if conninfo is None else check_conninfo(conninfo),
            pool,
            schema=check_schema(schema),
            partitions=check_partitions(partitions),
            clock=clock,
            auto_migrate=auto_migrate,
            patience_s=patience_s,
            answer_within_s=answer_within_s,
            most_connections=most_connections,
        )
        super().__init__(
            AsyncPerLoopRunner(make, given="" if pool is None else "pool"),
            new_id=new_id,
            max_message_bytes=max_message_bytes,
        )

    @classmethod
    def from_url(cls, url: str, *, new_id: Callable[[], str], **options: Any) -> Self:
        """Take `schema` and `partitions` out of a URL; the other parameters are the driver's."""
        conninfo, ours = take_parameters(url, {"schema", "partitions"})
        conninfo = f"postgresql://{conninfo.partition('://')[2]}"
        given = ours.get("partitions", "0")
        partitions = int(given) if given.isascii() and given.isdigit() else -1
        schema = ours.get("schema", SCHEMA)
        return cls(conninfo, new_id=new_id, schema=schema, partitions=partitions, **options)

    async def find_session(self, owner: str, session: str) -> SessionRecord | None:
        check.owner_and_session(owner, session)
        return await self._runner.here().find_session(owner, session)

    async def read(self, owner: str, session: str, query: Read) -> History:
        check.owner_and_session(owner, session)
        check.read(query)
        return await self._runner.here().read_path(owner, session, query)

    async def erase_owner(self, owner: str) -> None:
        check.owner(owner)
        await self._runner.here().erase_owner(owner)

    async def changes(
        self, owner: str, *, after: str = "", limit: int = 500, reader: str | None = None
    ) -> Changes:
        page = await super().changes(owner, after=after, limit=limit, reader=reader)
        for _ in range(FEED_TRIES):
            if not page.more or len(page.changes) >= limit:
                break
            # There is more, behind a transaction that began before it and is not finished yet.
            await self._runner.here().pause(FEED_PAUSE_S)
            page = await super().changes(owner, after=after, limit=limit)
        return page
