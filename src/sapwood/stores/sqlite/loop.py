"""How calls reach the database from an event loop: one thread hop for each unit of work.

The loop collects the writes that arrive while a batch is being committed, and hands them to the
worker thread as the next batch, with one wake-up for all of them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from ...calls import AsyncAnswer
from ...errors import ClosedError
from ...store._sync.admin import Progress
from ..base._async.runner import AsyncRunner
from ..base._async.unit import AsyncUnit
from ..base.sync_work import sync_work
from .database import Database
from .unit import SqliteUnit
from .writer import Outcome, Work

logger = logging.getLogger(__name__)

T = TypeVar("T")
Task = Callable[[], None]
_Desk = SimpleQueue[Task | None]

READER_THREADS = 4


class Workers:
    """Threads that carry out tasks, begun in the order given.

    A task goes to the thread that was last at work: what it needs is still warm there.
    """

    def __init__(self, name: str, count: int) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[Task] = deque()
        self._is_stopped = False
        self._idle: list[_Desk] = [SimpleQueue() for _ in range(count)]
        for desk in self._idle:
            threading.Thread(target=self._serve, args=(desk,), name=name, daemon=True).start()

    def give(self, task: Task) -> None:
        """Hand over a task; after the end it is run at once, and finds the store closed."""
        with self._guard:
            is_stopped = self._is_stopped
            desk = self._idle.pop() if self._idle and not is_stopped else None
            if desk is None and not is_stopped:
                self._waiting.append(task)
        if desk is not None:
            desk.put(task)
        elif is_stopped:
            task()

    def _serve(self, desk: _Desk) -> None:
        while (task := desk.get()) is not None:
            while task is not None:
                task()
                task = self._next(desk)

    def _next(self, desk: _Desk) -> Task | None:
        """Return the next task that waits; without one, the thread is idle, or at its end."""
        with self._guard:
            if self._waiting:
                return self._waiting.popleft()
            if self._is_stopped:
                desk.put(None)
            else:
                self._idle.append(desk)
            return None

    def stop(self) -> None:
        """End the threads after what was given to them."""
        with self._guard:
            self._is_stopped = True
            idle, self._idle = self._idle, []
        for desk in idle:
            desk.put(None)


class AsyncSqliteRunner(AsyncRunner):
    """Runs units of work in threads, for the loop that awaits them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writers = Workers("sapwood-loop-writer", 1)
        self._readers = Workers("sapwood-loop-reader", READER_THREADS)
        self._collector: _Collector | None = None
        self._is_closed = False

    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return await self._in_reader(lambda: self._database.read(sync_work(work)))

    async def read_own(self, work: Callable[[SqliteUnit], T]) -> T:
        """Run work that reads what only this store has, on one snapshot."""
        return await self._in_reader(lambda: self._database.read(work))

    async def glance(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return await self._in_reader(lambda: self._database.glance(sync_work(work)))

    async def write(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        self._refuse_if_closed()
        loop = asyncio.get_running_loop()
        collector = self._collector
        if collector is None or collector.loop is not loop:
            collector = self._collector = _Collector(loop, self._writers, self._database)
        result: T = await collector.add(sync_work(work))
        return result

    async def finish_deletions(self) -> None:
        await self._in_reader(self._database.finish_deletions)

    async def migrate(self) -> int:
        return await self._in_reader(self._database.migrate)

    async def repair(self) -> None:
        await self._in_reader(self._database.repair)

    async def backup(self, path: Path, replace: bool, progress: Progress | None) -> None:
        await self._in_reader(lambda: self._database.backup(path, replace, progress))

    async def aclose(self) -> None:
        if self._is_closed or self._database.is_closed():
            return
        self._is_closed = True
        try:
            await _hop(self._writers, self._database.close)
        finally:
            self._writers.stop()
            self._readers.stop()

    def _refuse_if_closed(self) -> None:
        # Also after a fork: there are no threads then that could carry anything out.
        self._database.refuse_if_closed()
        if self._is_closed:
            raise ClosedError(f"{self._database.path}: the store is closed")

    def _in_reader(self, call: Callable[[], T]) -> asyncio.Future[T]:
        self._refuse_if_closed()
        return _hop(self._readers, call)


def _hop(workers: Workers, call: Callable[[], T]) -> asyncio.Future[T]:
    """Let a call run in another thread; whoever waits for it does so even when cancelled."""
    loop = asyncio.get_running_loop()
    future = _Handed(loop=loop)

    def task() -> None:
        try:
            outcome = Outcome(call())
        except BaseException as error:  # noqa: BLE001  told to the caller
            outcome = Outcome(error=error)
        _tell(loop, future.settle, outcome)

    workers.give(task)
    return future


class _Collector:
    """Gathers the writes of one loop into batches, one of which is under way at a time."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, workers: Workers, database: Database
    ) -> None:
        self.loop = loop
        self._workers = workers
        self._database = database
        self._waiting: list[tuple[Work, _Handed]] = []
        self._is_under_way = False
        self._has_company = False

    def add(self, work: Work) -> _Handed:
        future = _Handed(loop=self.loop)
        self._waiting.append((work, future))
        if not self._is_under_way:
            self._is_under_way = True
            # Writers that came together last time will come together again: let all of them in.
            if self._has_company:
                self.loop.call_soon(self._send)
            else:
                self._send()
        return future

    def _send(self) -> None:
        batch, self._waiting = self._waiting, []
        self._has_company = len(batch) > 1
        self._workers.give(lambda: self._commit(batch))

    def _commit(self, batch: list[tuple[Work, _Handed]]) -> None:
        """Commit a batch in the worker thread, then wake the loop once."""
        try:
            if len(batch) == 1:
                outcomes = [Outcome(self._database.write(batch[0][0]))]
            else:
                outcomes = self._database.write_group([work for work, _ in batch])
        except BaseException as error:  # noqa: BLE001  told to every caller
            outcomes = [Outcome(error=error) for _ in batch]
        _tell(self.loop, self._deliver, batch, outcomes)

    def _deliver(self, batch: list[tuple[Work, _Handed]], outcomes: list[Outcome]) -> None:
        if self._waiting:
            self._send()
        else:
            self._is_under_way = False
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            future.settle(outcome)


def _tell(loop: asyncio.AbstractEventLoop, tell: Callable[..., None], *args: Any) -> None:
    """Run something on the loop; one that was closed has nobody left to tell."""
    try:
        loop.call_soon_threadsafe(tell, *args)
    except RuntimeError:
        logger.debug("the loop was closed before an outcome could be told", exc_info=True)


class _Handed(asyncio.Future[Any]):
    """The outcome of work that was handed over: a cancelled caller does not abandon it.

    A task that is cancelled while it waits for one is cancelled after the outcome is known.
    """

    def cancel(self, msg: Any = None) -> bool:
        """Refuse: the work is under way."""
        return False

    def settle(self, outcome: Outcome) -> None:
        """Take over the result or the error."""
        if outcome.error is None:
            self.set_result(outcome.result)
        else:
            self.set_exception(outcome.error)
            # A cancelled caller never asks for it, and that is no reason for a warning.
            self.exception()
