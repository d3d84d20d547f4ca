"""Carrying out units of work: connections, and what to do when they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from sqlalchemy import exc
from sqlalchemy.engine import Connection

from ....calls import AsyncAnswer
from ....errors import ClosedError, SapwoodError, StoreBusyError, StoreError, UsageError
from ....model import Appended, Changes, History, Read, SessionRecord
from ...base._async.runner import AsyncRunner
from ...base._async.unit import AsyncUnit
from ...base.append_request import Request
from ...base.refusals import in_doubt
from ..append_queue import AsyncAppendQueue
from ..bridge import AsyncBridge, AsyncEngine
from ..failure import is_lost, is_silence, is_unknown_setting, is_worth_a_try, translate
from ..feed import bound_of, trim_feed
from ..locks import Mode
from ..quick_read import read_quickly
from ..sums import renew_one
from ..sweep import CHUNKS_AT_ONCE
from ..tx import Extra, Statements
from ..worker import SqlUnit, Worker

T = TypeVar("T")

TRIES = 8
TRIES_TO_CONNECT = 3
PAUSE_S = 0.002


class AsyncSqlAlchemyRunner(AsyncRunner):
    """Units of work on the connections of an engine, for any number of callers."""

    def __init__(
        self,
        engine: AsyncEngine,
        statements: Statements,
        *,
        owns_engine: bool,
        owns_tables: bool,
        clock: Callable[[], int] | None,
        extra: Extra | None,
        auto_migrate: bool,
    ) -> None:
        self._engine = self._at_once = engine
        self._owns_engine = owns_engine
        self._owns_tables = owns_tables
        self._where = AsyncBridge.core_of(engine).dialect.name
        if self._where == "postgresql":
            # One statement can be a transaction without a word to the server about it: its drivers
            # only note it, and then save the round trips that begin and end one; a driver that ends
            # a transaction in which it only read forgets what it had prepared. Those of MariaDB
            # would have to tell the server.
            self._at_once = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._worker = Worker(statements, clock, extra)
        self._auto_migrate = auto_migrate
        self._appends = AsyncAppendQueue(self._append_all)
        self._is_ready = False
        self._is_closed = False

    # units of work

    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work that only reads, on one snapshot."""
        return await self._look(AsyncBridge.sync_work(work), Mode.READ)

    async def glance(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work that reads with one statement, which is its own snapshot."""
        return await self._look(AsyncBridge.sync_work(work), Mode.GLANCE)

    async def _look(self, work: Callable[[SqlUnit], T], mode: Mode) -> T:
        engine = self._at_once if mode is Mode.GLANCE else self._engine
        return await self._attempt(lambda conn: self._worker.look(conn, work, mode), engine=engine)

    async def write(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work and commit it; its outcome is told after the commit."""
        return await self._transact(AsyncBridge.sync_work(work))

    async def find_session(self, owner: str, session: str) -> SessionRecord | None:
        """Find a record, with one statement where its context is known."""
        is_enough, record = await self._look(
            lambda unit: unit.sessions.glance(owner, session), Mode.GLANCE
        )
        if is_enough:
            return record
        return await self.read(lambda unit: unit.sessions.find(owner, session))

    async def read_path(self, owner: str, session: str, query: Read) -> History:
        """Read a path, with one statement where that is enough."""
        history = await self._look(
            lambda unit: read_quickly(unit.tx, owner, session, query), Mode.GLANCE
        )
        if history is not None:
            return history
        return await self.read(lambda unit: unit.messages.read(owner, session, query))

    async def changes(self, owner: str, after: str, limit: int) -> Changes:
        """Read the feed up to where all is committed."""
        bound = await self._transact(lambda unit: bound_of(unit.tx, owner))
        return await self._look(
            lambda unit: unit.feed.changes(owner, after, limit, bound), Mode.READ
        )

    async def feed_cursor(self, owner: str) -> str:
        """Return the feed's newest cursor, where all is committed."""

        def newest(unit: SqlUnit) -> str:
            bound_of(unit.tx, owner)
            return unit.feed.newest(owner)

        return await self._transact(newest)

    async def append(self, request: Request) -> Appended:
        """Append, in few statements where all is new; what is known or wrong takes some more.

        When the connection is lost before the answer came, it is sent again: by their ids it is
        seen whether the messages were written.
        """
        with in_doubt(request.batch):
            appended = None
            if request.is_plain:
                appended = await self._appends.add(request)
            elif request.is_next_with_any_data:
                [appended] = await self._append_all([request])
            if appended is not None:
                return appended
            return await self._transact(
                lambda unit: unit.messages.append(request), is_idempotent=True
            )

    async def _append_all(self, requests: Sequence[Request]) -> Sequence[Appended | None]:
        """Append for several callers in one transaction, or for each by itself if that fails."""
        is_one = len(requests) == 1
        try:
            return await self._attempt(
                lambda conn: self._worker.append(conn, requests),
                engine=self._at_once if is_one else self._engine,
            )
        except SapwoodError as error:
            may_be_held = isinstance(error, StoreBusyError)
            if is_one or (getattr(error, "retryable", False) and not may_be_held):
                raise
        # What is wrong with one, or holds it up, is not to be told to the others: these go the
        # long way.
        return [None] * len(requests)

    async def _transact(self, work: Callable[[SqlUnit], T], *, is_idempotent: bool = False) -> T:
        """Run work in a transaction, again if need be: not when it may have been committed."""
        is_committing = False
        left_to_sweep = False

        def go(conn: Connection) -> T:
            nonlocal is_committing, left_to_sweep
            is_committing = False
            unit = SqlUnit(self._worker.begin(conn, Mode.WRITE))
            result = work(unit)
            is_committing = not is_idempotent
            conn.commit()
            left_to_sweep = unit.tx.left_to_sweep
            return result

        result = await self._attempt(go, lambda: not is_committing)
        if left_to_sweep:
            await self._sweep_some()
        return result

    async def _sweep_some(self) -> None:
        """Do a part of what a deletion left; what fails is for the next to come."""
        with suppress(StoreError):
            for _ in range(CHUNKS_AT_ONCE):
                if not await self._transact(lambda unit: unit.sweep.sweep_chunk()):
                    break

    async def finish_deletions(self) -> None:
        """Finish sweeping, renew sums, trim the feed."""
        while await self._transact(lambda unit: unit.sweep.sweep_chunk()):
            continue
        while await self._transact(lambda unit: renew_one(unit.tx)):
            continue
        await self._transact(lambda unit: trim_feed(unit.tx))

    async def repair(self) -> None:
        """Rebuild what is derived."""
        await self._transact(lambda unit: unit.admin.repair())

    # connections

    async def _attempt(
        self,
        go: Callable[[Connection], T],
        may_repeat: Callable[[], bool] = lambda: True,
        *,
        engine: AsyncEngine | None = None,
    ) -> T:
        """Use a connection; where that is safe, try again when it fails."""
        tries = 0
        while True:
            tries += 1
            try:
                await self._make_ready()
                return await AsyncBridge.run(engine or self._engine, go)
            except (exc.SQLAlchemyError, OSError) as error:
                if not (may_repeat() and _may_help(error, tries)):
                    raise translate(error, self._where) from error
            except RuntimeError as error:
                if "loop" not in str(error):
                    raise
                raise UsageError(
                    "the engine has connections of another event loop: dispose of it in between"
                ) from error
            await AsyncBridge.pause(PAUSE_S * 2**tries)

    async def _make_ready(self) -> None:
        if self._is_closed:
            raise ClosedError("the store is closed")
        if self._is_ready:
            return
        await self._run_first(
            lambda conn: self._worker.make_ready(
                conn, is_ours=self._owns_tables, may_migrate=self._auto_migrate
            )
        )
        self._is_ready = True

    async def _run_first(self, go: Callable[[Connection], T]) -> T:
        """Run what comes before all else, and finds out whether the driver can connect."""
        try:
            return await AsyncBridge.run(self._engine, go)
        except TypeError as error:
            if not is_unknown_setting(error):
                raise
            raise UsageError(f"the driver cannot connect so: {error}", path="url") from error

    async def migrate(self) -> int:
        """Bring the schema up to date; return its version."""
        if self._is_closed:
            raise ClosedError("the store is closed")
        if not self._owns_tables:
            raise StoreError("the tables are not ours to change: they were brought along")
        try:
            return await self._run_first(self._worker.migrate)
        except (exc.SQLAlchemyError, OSError) as error:
            raise translate(error, self._where) from error

    async def aclose(self) -> None:
        """Close the connections, unless they are somebody else's."""
        self._is_closed = True
        if self._owns_engine:
            await self._engine.dispose()


def _may_help(error: BaseException, tries: int) -> bool:
    """Whether another try may go better."""
    if isinstance(error, exc.TimeoutError) or is_silence(error):
        return False
    if is_lost(error):
        return tries < TRIES_TO_CONNECT
    return tries < TRIES and is_worth_a_try(error)
