"""The store on SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, cast

from sqlalchemy.pool import NullPool

from ....model import Changes, History, Read, SessionRecord
from ....rules import check
from ....store import Capability
from ...base._async.runner import AsyncPerLoopRunner
from ...base._async.store import AsyncBaseStore
from ...url import take_parameters
from ..bridge import AsyncBridge, AsyncEngine
from ..engines import (
    check_kind,
    make_engine,
    most_bytes,
    options_for,
    prepare,
    read_url,
    refuse_engine,
)
from ..tables import Columns, Tables
from ..tx import Extra, Statements
from .runner import AsyncSqlAlchemyRunner

PATIENCE_S = 30.0
ANSWER_WITHIN_S = 120.0
MOST_CONNECTIONS = 16
PREFIX = "sapwood_"


class AsyncSqlAlchemyStore(AsyncBaseStore):
    """Sessions in tables of a database that SQLAlchemy speaks to.

    The engine stays its giver's to dispose of; a function that makes one is called for each event
    loop, and what it made is disposed of here. `tables` renames our tables, and `columns` their
    columns, by our names of them. With `own_tables` they are the user's: nothing is created, and
    all of them must be there. `extra` gives the values of further columns of each new row. Time
    is the server's, unless a clock is given.
    """

    capabilities = frozenset({Capability.DURABLE, Capability.SHARED, Capability.DATA})
    _runner: AsyncPerLoopRunner[AsyncSqlAlchemyRunner]

    def __init__(
        self,
        engine: AsyncEngine | Callable[[], AsyncEngine],
        *,
        new_id: Callable[[], str],
        prefix: str = PREFIX,
        schema: str | None = None,
        tables: Mapping[str, str] | None = None,
        columns: Columns | None = None,
        extra: Extra | None = None,
        own_tables: bool = False,
        clock: Callable[[], int] | None = None,
        auto_migrate: bool = True,
        max_message_bytes: int | None = None,
    ) -> None:
        make = engine if callable(engine) else None
        first = make() if make else cast("AsyncEngine", engine)
        core = AsyncBridge.core_of(first)
        kind = core.dialect.name
        check_kind(kind)
        refuse_engine(core)
        names: dict[str, Any] = {"schema": schema, "tables": tables, "columns": columns}
        statements = Statements(Tables(kind, prefix=prefix, are_theirs=own_tables, **names))
        engines = [first]

        def runner() -> AsyncSqlAlchemyRunner:
            return AsyncSqlAlchemyRunner(
                (engines.pop() if engines else make()) if make else first,
                statements,
                owns_engine=make is not None,
                owns_tables=not own_tables,
                clock=clock,
                extra=extra,
                auto_migrate=auto_migrate,
            )

        # Connections that are not kept are of the loop that they are made on.
        given = "" if make or isinstance(core.pool, NullPool) else "engine"
        super().__init__(
            AsyncPerLoopRunner(runner, given=given, outlives=True),
            new_id=new_id,
            max_message_bytes=max_message_bytes or most_bytes(kind),
        )

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        new_id: Callable[[], str],
        patience_s: float = PATIENCE_S,
        answer_within_s: float | None = ANSWER_WITHIN_S,
        most_connections: int = MOST_CONNECTIONS,
        **others: Any,
    ) -> Self:
        """Make an engine for a URL, without our own parameter, `prefix`; the others are its."""
        address, ours = take_parameters(url, {"prefix"})
        read = read_url(address, AsyncBridge.drivers)
        prefix = ours.get("prefix", PREFIX)
        options = options_for(read, patience_s, answer_within_s, most_connections)

        def engine() -> AsyncEngine:
            made = make_engine(AsyncBridge.create, read, options)
            prepare(AsyncBridge.core_of(made), answer_within_s)
            return made

        return cls(engine, new_id=new_id, prefix=prefix, **others)

    async def find_session(self, owner: str, session: str) -> SessionRecord | None:
        check.owner_and_session(owner, session)
        return await self._runner.here().find_session(owner, session)

    async def read(self, owner: str, session: str, query: Read) -> History:
        check.owner_and_session(owner, session)
        check.read(query)
        return await self._runner.here().read_path(owner, session, query)

    async def changes(
        self, owner: str, *, after: str = "", limit: int = 500, reader: str | None = None
    ) -> Changes:
        check.owner(owner)
        check.feed(after, limit, reader)
        if reader is not None:
            await self._runner.write(lambda unit: unit.feed.register(owner, reader, after))
        return await self._runner.here().changes(owner, after, limit)

    async def feed_cursor(self, owner: str) -> str:
        check.owner(owner)
        return await self._runner.here().feed_cursor(owner)
