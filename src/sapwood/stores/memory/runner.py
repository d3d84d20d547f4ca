"""Carrying out units of work in memory: one at a time, where they are called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from ...calls import AsyncAnswer
from ...errors import UsageError
from ...rules.wording import a_kind
from ..base._async.runner import AsyncRunner
from ..base._async.unit import AsyncUnit
from ..base._sync.runner import Runner
from ..base.queues import CallerQueues
from ..base.refusals import store_closed
from ..base.sync_work import sync_work
from ..recordlog._sync.logs import Logs
from ..recordlog._sync.runner import LogUnit
from ..recordlog._sync.shelves import shelf_states
from ..recordlog._sync.sweep import finish_deletions
from ..recordlog.documents import is_expired
from ..recordlog.state import LogState
from .driver import SCHEMA_VERSION, MemoryDriver, MemorySnapshot, Shelf

T = TypeVar("T")

KEPT_EXPIRED_US = 24 * 3600 * 1_000_000


class _NoQueues(CallerQueues):
    """No queues: there is one caller at a time, and one that it interrupted has to let it pass."""

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        yield


class MemoryRunner(Runner):
    """Carries out units of work in the caller's thread: one at a time, until it is closed."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._lock = threading.RLock()
        self.driver = MemoryDriver(clock)
        marks = count()
        self._logs = Logs(self.driver, lambda: str(next(marks)), clock)
        self._logs.queues = _NoQueues()
        self._unit = LogUnit(self._logs)
        self._is_closed = False

    def read(self, work: Callable[[LogUnit], T]) -> T:
        with self._lock:
            if self._is_closed:
                raise store_closed()
            return work(self._unit)

    write = read

    def finish_deletions(self) -> None:
        """Finish what units of work left to be done, and remove what expired a day ago."""

        def work(unit: LogUnit) -> None:
            finish_deletions(self._logs)
            for owner in self._unit.admin.owners():
                for state in shelf_states(self._logs, owner):
                    self._drop_expired(owner, None, state)
                for state in self._logs.alive(owner):
                    self._drop_expired(owner, state.session, state)

        self.read(work)

    def _drop_expired(self, owner: str, session: str | None, state: LogState) -> None:
        long_ago = self.driver.now() - KEPT_EXPIRED_US
        for key, kept in state.documents.items():
            if is_expired(kept, long_ago):
                self._unit.documents.delete(owner, session, key, kept.version)

    def snapshot(self) -> MemorySnapshot:
        """Keep what there is now."""

        def work(unit: LogUnit) -> MemorySnapshot:
            for owner in self._unit.admin.owners():
                # The feed takes note when it is read: a cursor of this moment is to hold later.
                self._unit.feed.newest(owner)
            return MemorySnapshot(self.driver.shelf, self._logs.stamp())

        return self.read(work)

    def restore(self, snapshot: MemorySnapshot) -> None:
        """Put what there was in the place of what there is."""
        if not isinstance(snapshot, MemorySnapshot):
            raise UsageError(
                f"a memory store is restored from what its snapshot() gave, "
                f"not from {a_kind(snapshot)}",
                path="snapshot",
            )

        def work(unit: LogUnit) -> None:
            self.driver.replace(snapshot.shelf_after(self.driver.shelf))
            self._logs.cache.clear(snapshot.stamp())

        self.read(work)

    def clear(self) -> None:
        """Put nothing in the place of what there is."""
        self.restore(MemorySnapshot(Shelf(), 0))

    def repair(self) -> None:
        self.read(lambda unit: unit.admin.repair())

    def migrate(self) -> int:
        return self.read(lambda _: SCHEMA_VERSION)

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._is_closed = True
            self.driver.close()
            self._logs.cache.clear()


class AsyncMemoryRunner(AsyncRunner):
    """Carries out units of work inside the call: none waits for anything but the lock."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.sync = MemoryRunner(clock)

    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return self.sync.read(sync_work(work))

    write = read

    async def finish_deletions(self) -> None:
        self.sync.finish_deletions()

    async def repair(self) -> None:
        self.sync.repair()

    async def migrate(self) -> int:
        return self.sync.migrate()

    async def aclose(self) -> None:
        self.sync.close()
