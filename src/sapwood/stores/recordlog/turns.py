"""Taking turns inside a process: those who write to one log queue, and a write is never abandoned.

`AsyncTurns` is for the async twin and `Turns` for the sync one; they have the same methods.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class AsyncTurns:
    """Turns on an event loop."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, log: str) -> AsyncIterator[None]:
        """Wait for one's turn with a log."""
        import asyncio

        lock, waiting = self._locks.get(log) or (asyncio.Lock(), 0)
        self._locks[log] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._locks.pop(log)
            if waiting > 1:
                self._locks[log] = lock, waiting - 1

    @staticmethod
    async def to_the_end(work: Callable[[], Awaitable[T]]) -> T:
        """Do work of which a caller that is cancelled waits for the outcome."""
        import asyncio

        task = asyncio.ensure_future(work())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # seen, though its caller is gone
            raise

    @staticmethod
    async def pause(seconds: float) -> None:
        """Wait a little."""
        import asyncio

        await asyncio.sleep(seconds)


class Turns:
    """Turns of threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def of(self, log: str) -> Iterator[None]:
        """Wait for one's turn with a log."""
        with self._guard:
            lock, waiting = self._locks.get(log) or (threading.Lock(), 0)
            self._locks[log] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, waiting = self._locks.pop(log)
                if waiting > 1:
                    self._locks[log] = lock, waiting - 1

    @staticmethod
    def to_the_end(work: Callable[[], T]) -> T:
        """Do work."""
        return work()

    @staticmethod
    def pause(seconds: float) -> None:
        """Wait a little."""
        threading.Event().wait(seconds)
