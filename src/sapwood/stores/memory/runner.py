"""Carrying out units of work in memory: one at a time, where they are called."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from ...calls import AsyncAnswer
from ...errors import ClosedError
from ..base._async.runner import AsyncRunner
from ..base._async.unit import AsyncUnit
from ..base._sync.runner import Runner
from ..base._sync.unit import Unit
from ..base.sync_work import sync_work
from .admin import SCHEMA_VERSION
from .snapshot import MemorySnapshot, check_snapshot, empty_after
from .state import State
from .unit import MemoryUnit

T = TypeVar("T")


class _Desk:
    """The one unit, which one caller at a time may work on until it is closed."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._lock = threading.RLock()
        self._unit: MemoryUnit | None = MemoryUnit(State(clock))

    def run(self, work: Callable[[MemoryUnit], T]) -> T:
        with self._lock:
            if self._unit is None:
                raise ClosedError("the store is closed: open a new one")
            return work(self._unit)

    def snapshot(self) -> MemorySnapshot:
        return self.run(lambda unit: MemorySnapshot(unit.state))

    def restore(self, snapshot: MemorySnapshot) -> None:
        check_snapshot(snapshot)
        self._replace(snapshot.state_after)

    def clear(self) -> None:
        self._replace(empty_after)

    def _replace(self, change: Callable[[State], State]) -> None:
        """Put another state in the place of this one; no call sees a part of both."""
        with self._lock:
            self._unit = MemoryUnit(change(self.run(lambda unit: unit.state)))

    def close(self) -> None:
        with self._lock:
            self._unit = None


class MemoryRunner(Runner):
    """Carries out units of work in the caller's thread."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.desk = _Desk(clock)

    def read(self, work: Callable[[Unit], T]) -> T:
        return self.desk.run(work)

    def write(self, work: Callable[[Unit], T]) -> T:
        return self.desk.run(work)

    def settle(self) -> None:
        self.desk.run(lambda unit: unit.settle())

    def repair(self) -> None:
        self.desk.run(lambda unit: unit.admin.repair())

    def migrate(self) -> int:
        return self.desk.run(lambda unit: SCHEMA_VERSION)

    def close(self) -> None:
        self.desk.close()


class AsyncMemoryRunner(AsyncRunner):
    """Carries out units of work inside the call: none waits for anything but the lock."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.desk = _Desk(clock)

    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return self.desk.run(sync_work(work))

    async def write(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return self.desk.run(sync_work(work))

    async def settle(self) -> None:
        self.desk.run(lambda unit: unit.settle())

    async def repair(self) -> None:
        self.desk.run(lambda unit: unit.admin.repair())

    async def migrate(self) -> int:
        return self.desk.run(lambda unit: SCHEMA_VERSION)

    async def aclose(self) -> None:
        self.desk.close()
