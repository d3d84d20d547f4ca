"""Carrying out units of work: connections, transactions, and what to do when they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ....calls import AsyncAnswer
from ....errors import ClosedError, StoreError, UsageError
from ....model import Appended, History, Read, SessionRecord
from ...base._async.runner import AsyncRunner
from ...base.append_request import Request
from ...base.appends import AsyncAppends
from ...base.refusals import in_doubt
from ..failure import RETRIED, UNPREPARED, NoAnswerError, is_lost, translate, waited_for
from ..migration import in_schema
from .admin import repair_some
from .feed import trim_feed
from .listing_check import delete_stray_tags
from .migrator import AsyncMigrator
from .quick_append import append_each, append_new, refuse_large
from .quick_read import read_at_once
from .sums import renew_one
from .sweep import CHUNKS_AT_ONCE
from .tx import AsyncTx
from .unit import AsyncPostgresUnit

T = TypeVar("T")

TRIES = 4
MOST_CONNECTIONS = 16
CONNECT_TIMEOUT_S = 10
WHERE = "PostgreSQL"

_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
# A statement is prepared on the server where it says so, on a connection that allows it.
_OPTIONS: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}


class AsyncPatientConnection(AsyncConnection[Any]):
    """A connection that gives up when the server keeps silent for too long."""

    answer_within_s: float | None = None

    async def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Carry out an operation of the driver."""
        steps = waited_for(gen, self.pgconn.socket, self.answer_within_s)
        return await super().wait(steps, *args, **options)


class AsyncPostgresRunner(AsyncRunner):
    """Units of work on the connections of a pool, for any number of callers."""

    def __init__(
        self,
        conninfo: str | None,
        pool: AsyncConnectionPool[Any] | None,
        *,
        schema: str,
        partitions: int,
        clock: Callable[[], int] | None,
        auto_migrate: bool,
        patience_s: float,
        answer_within_s: float | None,
        most_connections: int,
    ) -> None:
        self._conninfo = conninfo
        self._owns_pool = pool is None
        self._pool: AsyncConnectionPool[Any] = pool or AsyncConnectionPool(
            conninfo or "",
            open=False,
            min_size=0,
            max_size=most_connections,
            kwargs={**_OPTIONS, "connect_timeout": CONNECT_TIMEOUT_S},
            connection_class=AsyncPatientConnection,
            configure=self._configure,
            name="sapwood",
        )
        self._schema = schema
        self._partitions = partitions
        self._texts = cache(partial(in_schema, schema=schema))
        self._clock = clock
        self._auto_migrate = auto_migrate
        self._patience_s = patience_s
        self._answer_within_s = answer_within_s
        self._appends = AsyncAppends(self._append_all)
        self._is_ready = False
        self._is_suspect = False
        self._is_closed = False
        self._prepares = True

    # units of work

    async def read(self, work: Callable[[AsyncPostgresUnit], AsyncAnswer[T]]) -> T:
        """Run work that only reads, on one snapshot."""
        return await self._transact(work, _BEGIN_READ, locks=False)

    async def write(self, work: Callable[[AsyncPostgresUnit], AsyncAnswer[T]]) -> T:
        """Run work and commit it; its outcome is told after the commit."""
        return await self._transact(work, _BEGIN_WRITE, locks=True)

    async def find_session(self, owner: str, session: str) -> SessionRecord | None:
        """Find a record, with one statement where its context is known."""
        is_enough, record = await self._attempt(
            lambda raw: self._unit(raw).sessions.glance(owner, session)
        )
        if is_enough:
            return record
        return await self.read(lambda unit: unit.sessions.find(owner, session))

    async def read_path(self, owner: str, session: str, query: Read) -> History:
        """Read a path, with one statement unless there are pins or a limit in bytes."""
        history = await self._attempt(
            lambda raw: read_at_once(self._tx(raw), owner, session, query)
        )
        if history is not None:
            return history
        return await self.read(lambda unit: unit.messages.read(owner, session, query))

    async def append(self, request: Request) -> Appended:
        """Append in one round trip; what is known already, or wrong, takes a few more.

        When the connection is lost before the answer came, it is sent again: by their ids it is
        seen whether the messages were written.
        """
        if len(request.batch) > 1:
            refuse_large(request)
        with in_doubt(request.batch):
            is_grouped = request.is_plain and not request.has_digests
            send = self._appends.add if is_grouped else self._append_new
            appended = await send(request)
            if appended is not None:
                return appended
            return await self._transact(
                lambda unit: unit.messages.append(request),
                _BEGIN_WRITE,
                locks=True,
                is_idempotent=True,
            )

    async def _append_new(self, request: Request) -> Appended | None:
        return await self._send(append_new, request)

    async def _append_all(self, requests: Sequence[Request]) -> Sequence[Appended | None]:
        """Append for several callers in one transaction, or for each by itself if that fails."""
        if len(requests) == 1:
            return [await self._append_new(requests[0])]
        try:
            return await self._send(append_each, requests)
        except StoreError as error:
            if error.retryable:
                raise
        # What is wrong with one is not to be told to the others: these go the long way.
        return [None] * len(requests)

    async def _send(self, append: Callable[..., AsyncAnswer[T]], asked: Any) -> T:
        """Append at once; whoever does so again is told that it may have been done."""
        is_repeated = False

        def go(raw: AsyncConnection[Any]) -> AsyncAnswer[T]:
            nonlocal is_repeated
            was_sent, is_repeated = is_repeated, True
            return append(self._tx(raw), asked, is_repeated=was_sent)

        return await self._attempt(go)

    async def pause(self, seconds: float) -> None:
        """Wait, by the server's clock."""
        await self._attempt(lambda raw: raw.execute("SELECT pg_sleep(%s)", (seconds,)))

    async def _transact(
        self,
        work: Callable[[AsyncPostgresUnit], AsyncAnswer[T]],
        begin: str,
        *,
        locks: bool,
        is_idempotent: bool = False,
    ) -> T:
        """Run work in a transaction, again if need be: not when it may have been committed."""
        is_committing = False
        left_to_sweep = False

        async def go(raw: AsyncConnection[Any]) -> T:
            nonlocal is_committing, left_to_sweep
            is_committing = False
            unit = self._unit(raw, locks=locks)
            await raw.execute(begin.encode())
            result = await work(unit)
            is_committing = locks and not is_idempotent
            await raw.execute("COMMIT")
            left_to_sweep = unit.tx.left_to_sweep
            return result

        result = await self._attempt(go, lambda: not is_committing)
        if left_to_sweep:
            await self._sweep_some()
        return result

    async def _sweep_some(self) -> None:
        """Do a part of what a deletion left; what fails is for the next to come."""
        try:
            for _ in range(CHUNKS_AT_ONCE):
                if not await self.write(lambda unit: unit.sweep.sweep_chunk()):
                    break
        except StoreError:
            return

    async def _write_tx(self, work: Callable[[AsyncTx], AsyncAnswer[T]]) -> T:
        return await self.write(lambda unit: work(unit.tx))

    async def finish_deletions(self) -> None:
        """Finish sweeping, renew sums, trim the feed."""
        while await self.write(lambda unit: unit.sweep.sweep_chunk()):
            continue
        while await self._write_tx(renew_one):
            continue
        await self._write_tx(trim_feed)

    async def erase_owner(self, owner: str) -> None:
        """Delete an owner's sessions, some in each transaction, and then all that is left."""
        while await self.write(lambda unit: unit.sessions.erase_some(owner)):
            continue
        await self.write(lambda unit: unit.sessions.erase_owner(owner))

    async def repair(self) -> None:
        """Rebuild what is derived, some trees in each transaction."""
        trees = [0]
        while trees:
            trees = await self._write_tx(partial(repair_some, after=trees[-1]))
        await self._write_tx(delete_stray_tags)

    # connections

    async def _attempt(
        self,
        go: Callable[[AsyncConnection[Any]], AsyncAnswer[T]],
        may_repeat: Callable[[], bool] = lambda: True,
    ) -> T:
        """Use a connection; where that is safe, try again on another when it fails."""
        tries = TRIES
        while True:
            tries -= 1
            try:
                return await self._use(go)
            except psycopg.Error as error:
                if not (tries and may_repeat() and await self._may_help(error)):
                    raise await self._failure(error) from error

    async def _may_help(self, error: psycopg.Error) -> bool:
        """Whether another try may go better."""
        if isinstance(error, PoolTimeout):
            return False
        if is_lost(error):
            self._is_suspect = True
            return not isinstance(error, NoAnswerError)
        if error.sqlstate in UNPREPARED:
            self._prepares = False
            return True
        return error.sqlstate in RETRIED

    async def _failure(self, error: psycopg.Error) -> StoreError:
        if isinstance(error, PoolTimeout) and self._owns_pool:
            # Either others hold all connections, or none can be made.
            try:
                await (await self._connect()).close()
            except psycopg.Error as reason:
                self._is_suspect = True
                return translate(reason, WHERE)
        return translate(error, WHERE)

    async def _use(self, go: Callable[[AsyncConnection[Any]], AsyncAnswer[T]]) -> T:
        if self._is_closed:
            raise ClosedError("the store is closed")
        if not self._is_ready or self._is_suspect:
            await self._make_ready()
        return await self._lend(go)

    async def _lend(self, go: Callable[[AsyncConnection[Any]], AsyncAnswer[T]]) -> T:
        """Take a connection for the time of one work: what was left open is rolled back."""
        raw = await self._pool.getconn(timeout=self._patience_s)
        try:
            return await (go(raw) if raw.autocommit else self._borrow(raw, go))
        except BaseException:
            with suppress(psycopg.Error):
                await raw.rollback()
            raise
        finally:
            await self._pool.putconn(raw)

    async def _borrow(
        self, raw: AsyncConnection[Any], go: Callable[[AsyncConnection[Any]], AsyncAnswer[T]]
    ) -> T:
        """Begin transactions ourselves; leave a connection of somebody else's as it was."""
        await raw.set_autocommit(True)
        try:
            return await go(raw)
        finally:
            with suppress(psycopg.Error):
                await raw.rollback()
                await raw.set_autocommit(False)

    async def _configure(self, raw: AsyncConnection[Any]) -> None:
        """Allow prepared statements where what answers is what was connected to.

        A pooler gives a number of its own for the server's process, and may give the next
        statement to another one, which does not know what was prepared.
        """
        assert isinstance(raw, AsyncPatientConnection)
        raw.answer_within_s = self._answer_within_s
        found = await (await raw.execute("SELECT pg_backend_pid()")).fetchone()
        if found is not None and found[0] == raw.info.backend_pid:
            raw.prepare_threshold = 0

    async def _make_ready(self) -> None:
        """Look at the server before the pool is used: it only tells that it timed out."""
        if self._owns_pool:
            raw = await self._connect()
            try:
                await self._look_at(raw)
            finally:
                await raw.close()
            await self._pool.open()
        elif not self._is_ready:
            await self._lend(self._look_at)
        await self._pool.check()
        self._is_ready, self._is_suspect = True, False

    async def _look_at(self, raw: AsyncConnection[Any]) -> None:
        if not self._is_ready:
            await self._migrator(raw).make_ready(may_migrate=self._auto_migrate)

    async def _connect(self) -> AsyncConnection[Any]:
        return await AsyncConnection.connect(
            self._conninfo or "", connect_timeout=CONNECT_TIMEOUT_S, **_OPTIONS
        )

    async def migrate(self) -> int:
        """Bring the schema up to date; return its version."""
        if self._is_closed:
            raise ClosedError("the store is closed")
        try:
            if self._owns_pool:
                async with await self._connect() as raw:
                    return await self._migrator(raw).migrate()
            return await self._use(lambda raw: self._migrator(raw).migrate())
        except psycopg.Error as error:
            raise translate(error, WHERE) from error

    def _migrator(self, raw: AsyncConnection[Any]) -> AsyncMigrator:
        return AsyncMigrator(raw, self._schema, self._partitions)

    def _tx(self, raw: AsyncConnection[Any], *, locks: bool = False) -> AsyncTx:
        return AsyncTx(raw, self._texts, self._clock, locks=locks, prepares=self._prepares)

    def _unit(self, raw: AsyncConnection[Any], *, locks: bool = False) -> AsyncPostgresUnit:
        return AsyncPostgresUnit(self._tx(raw, locks=locks))

    async def aclose(self) -> None:
        """Close the connections, unless they are somebody else's."""
        self._is_closed = True
        if self._owns_pool:
            await self._pool.close()


def check_conninfo(conninfo: str) -> str:
    """Check a URL or connection string; what is wrong is told without showing a password."""
    try:
        psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.Error:
        raise UsageError(
            "the connection string cannot be read: use postgresql://user:password@host:port/name",
            path="url",
        ) from None
    return conninfo
