"""Queues of callers: those who write to one session, or to one log, come one after the other.

`AsyncCallerQueues` is for the async twin and `CallerQueues` for the sync one; their methods are the
same.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


async def until_done(future: asyncio.Future[Any]) -> None:
    """Wait for what is under way, for a caller that was cancelled: however often it is again."""
    import asyncio

    while not future.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([future])


class AsyncCallerQueues:
    """A queue for each name, on an event loop; and writes that are never abandoned."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Wait until those who came before with this name are done."""
        import asyncio

        lock, waiting = self._locks.get(name) or (asyncio.Lock(), 0)
        self._locks[name] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._locks.pop(name)
            if waiting > 1:
                self._locks[name] = lock, waiting - 1

    @staticmethod
    async def to_the_end(work: Callable[[], Awaitable[T]]) -> T:
        """Do work of which a caller that is cancelled waits for the outcome."""
        import asyncio

        task = asyncio.ensure_future(work())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await until_done(task)
            if not task.cancelled():
                task.exception()  # seen, though its caller is gone
            raise

    @staticmethod
    async def pause(seconds: float) -> None:
        """Wait a little."""
        import asyncio

        await asyncio.sleep(seconds)


class CallerQueues:
    """A queue for each name, of threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Wait until those who came before with this name are done."""
        with self._guard:
            lock, waiting = self._locks.get(name) or (threading.Lock(), 0)
            self._locks[name] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, waiting = self._locks.pop(name)
                if waiting > 1:
                    self._locks[name] = lock, waiting - 1

    @staticmethod
    def to_the_end(work: Callable[[], T]) -> T:
        """Do work."""
        return work()

    @staticmethod
    def pause(seconds: float) -> None:
        """Wait a little."""
        threading.Event().wait(seconds)
