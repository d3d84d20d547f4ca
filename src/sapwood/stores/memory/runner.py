"""Carrying out units of work in memory: one at a time, where they are called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from ...calls import AsyncAnswer
from ..base._async.runner import AsyncRunner
from ..base._async.unit import AsyncUnit
from ..base._sync.runner import Runner
from ..base.queues import CallerQueues
from ..base.refusals import store_closed
from ..base.sync_work import sync_work
from ..recordlog._sync.documents import DOCUMENTS, is_expired, owner_state
from ..recordlog._sync.logs import Logs
from ..recordlog._sync.maintenance import settle
from ..recordlog._sync.sessions import alive
from ..recordlog._sync.unit import LogUnit
from ..recordlog.state import LogState
from .driver import SCHEMA_VERSION, MemoryDriver
from .shelf import Shelf
from .snapshot import MemorySnapshot, check_snapshot

T = TypeVar("T")

KEPT_EXPIRED_US = 24 * 3600 * 1_000_000


class _NoQueues(CallerQueues):
    """No queues: there is one caller at a time, and one that it interrupted has to let it pass."""

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        yield


class LockedUnit:
    """The one unit, which one caller at a time may work on until it is closed."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._lock = threading.RLock()
        self._driver = MemoryDriver(clock)
        marks = count()
        self._logs = Logs(self._driver, lambda: str(next(marks)), clock)
        self._logs.queues = _NoQueues()
        self._unit = LogUnit(self._logs)
        self._is_closed = False

    def run(self, work: Callable[[LogUnit], T]) -> T:
        """Carry out work."""
        with self._lock:
            if self._is_closed:
                raise store_closed()
            return work(self._unit)

    def settle(self) -> None:
        """Finish what units of work left to be done, and remove what expired a day ago."""

        def work(unit: LogUnit) -> None:
            settle(self._logs)
            for owner in self._unit.admin.owners():
                self._drop_expired(owner, None, owner_state(self._logs, owner, DOCUMENTS))
                for state in alive(self._logs, owner):
                    self._drop_expired(owner, state.session, state)

        self.run(work)

    def _drop_expired(self, owner: str, session: str | None, state: LogState) -> None:
        long_ago = self._driver.now() - KEPT_EXPIRED_US
        for key, kept in state.documents.items():
            if is_expired(kept, long_ago):
                self._unit.documents.delete(owner, session, key, kept.version)

    def snapshot(self) -> MemorySnapshot:
        """Keep what there is now."""

        def work(unit: LogUnit) -> MemorySnapshot:
            for owner in self._unit.admin.owners():
                # The feed takes note when it is read: a cursor of this moment is to hold later.
                self._unit.feed.end(owner)
            return MemorySnapshot(self._driver.shelf, self._logs.stamp())

        return self.run(work)

    def restore(self, snapshot: MemorySnapshot) -> None:
        """Put what there was in the place of what there is."""
        check_snapshot(snapshot)

        def work(unit: LogUnit) -> None:
            self._driver.replace(snapshot.shelf_after(self._driver.shelf))
            self._logs.cache.clear(snapshot.stamp())

        self.run(work)

    def clear(self) -> None:
        """Put nothing in the place of what there is."""
        self.restore(MemorySnapshot(Shelf(), 0))

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._is_closed = True
            self._driver.close()
            self._logs.cache.clear()


class MemoryRunner(Runner):
    """Carries out units of work in the caller's thread."""

    def __init__(self, locked: LockedUnit) -> None:
        self.locked = locked

    def read(self, work: Callable[[LogUnit], T]) -> T:
        return self.locked.run(work)

    def write(self, work: Callable[[LogUnit], T]) -> T:
        return self.locked.run(work)

    def settle(self) -> None:
        self.locked.settle()

    def repair(self) -> None:
        self.locked.run(lambda unit: unit.admin.repair())

    def migrate(self) -> int:
        return self.locked.run(lambda _: SCHEMA_VERSION)

    def close(self) -> None:
        self.locked.close()


class AsyncMemoryRunner(AsyncRunner):
    """Carries out units of work inside the call: none waits for anything but the lock."""

    def __init__(self, locked: LockedUnit) -> None:
        self.locked = locked

    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return self.locked.run(sync_work(work))

    async def write(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return self.locked.run(sync_work(work))

    async def settle(self) -> None:
        self.locked.settle()

    async def repair(self) -> None:
        self.locked.run(lambda unit: unit.admin.repair())

    async def migrate(self) -> int:
        return self.locked.run(lambda _: SCHEMA_VERSION)

    async def aclose(self) -> None:
        self.locked.close()
