"""What goes on beside the calls: a sweep now and then, a title that a model is asked for.

`AsyncBackground` is for the async twin and `Background` for the sync one; they have the same
methods.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger(__name__)


class StopReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came to its end when a manager was stopped, and what was left after its time."""

    finished: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class AsyncBackground:
    """Tasks on an event loop."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._stopped: asyncio.Event | None = None
        self.is_stopped = False

    def start(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do something once."""

        async def run() -> None:
            await self._isolated(name, work)

        self._begin(name, run)

    def repeat(self, name: str, every_s: float, work: Callable[[], Awaitable[object]]) -> None:
        """Do something again and again."""

        async def run() -> None:
            while not self.is_stopped:
                await self._isolated(name, work)
                await self._pause(every_s)

        self._begin(name, run)

    async def stop(self, timeout_s: float) -> StopReport:
        """Begin nothing more, and wait until what runs is done, or the time is over."""
        self.is_stopped = True
        if not self._tasks:
            return StopReport()
        import asyncio

        if self._stopped is not None:
            self._stopped.set()
        names = dict(self._tasks)
        done, left = await asyncio.wait(names, timeout=timeout_s)
        for task in left:
            task.cancel()
        return StopReport(
            finished=tuple(sorted(names[it] for it in done)),
            left=tuple(sorted(names[it] for it in left)),
        )

    def _begin(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        if self.is_stopped:
            return
        import asyncio

        task = asyncio.ensure_future(run())
        self._tasks[task] = name
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    async def _pause(self, seconds: float) -> None:
        if self.is_stopped:
            return
        import asyncio

        if self._stopped is None:
            self._stopped = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return

    async def _isolated(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except Exception:
            logger.warning("%s failed", name, exc_info=True)


class Background:
    """Threads."""

    def __init__(self) -> None:
        self._threads: dict[threading.Thread, str] = {}
        self._stopped = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is begun."""
        return self._stopped.is_set()

    def start(self, name: str, work: Callable[[], object]) -> None:
        """Do something once."""
        self._begin(name, lambda: self._isolated(name, work))

    def repeat(self, name: str, every_s: float, work: Callable[[], object]) -> None:
        """Do something again and again."""

        def run() -> None:
            while not self.is_stopped:
                self._isolated(name, work)
                self._stopped.wait(every_s)

        self._begin(name, run)

    def stop(self, timeout_s: float) -> StopReport:
        """Begin nothing more, and wait until what runs is done, or the time is over."""
        self._stopped.set()
        until = time.monotonic() + timeout_s
        finished: list[str] = []
        left: list[str] = []
        for thread, name in dict(self._threads).items():
            thread.join(max(0.0, until - time.monotonic()))
            (left if thread.is_alive() else finished).append(name)
        self._threads.clear()
        return StopReport(finished=tuple(sorted(finished)), left=tuple(sorted(left)))

    def _begin(self, name: str, run: Callable[[], None]) -> None:
        if self.is_stopped:
            return
        for thread in [it for it in list(self._threads) if not it.is_alive()]:
            self._threads.pop(thread, None)
        thread = threading.Thread(target=run, name=name, daemon=True)
        self._threads[thread] = name
        thread.start()

    def _isolated(self, name: str, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:
            logger.warning("%s failed", name, exc_info=True)
