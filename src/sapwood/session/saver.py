"""When what came of a streamed answer is stored: `AsyncSaver` is for the async twin.

On an event loop a task stores it, so that pieces are handed on meanwhile, and what came is stored
in time when nothing follows. Without one it is stored as pieces come.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..stores.base.queues import until_done

if TYPE_CHECKING:
    import asyncio


class AsyncSaver:
    """Saves in a task, one update at a time. `wait_s` says how long that may wait, or None."""

    def __init__(
        self, save: Callable[[], Awaitable[object]], wait_s: Callable[[], float | None]
    ) -> None:
        self._save = save
        self._wait_s = wait_s
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._is_stopped = False

    async def wake(self) -> None:
        """Let it look what is to be saved; raise what came of that before."""
        if self._error is not None:
            raise self._error
        if self._task is None:
            import asyncio

            self._woken = asyncio.Event()
            self._task = asyncio.ensure_future(self._run())
        self._woken.set()

    async def stop(self) -> None:
        """Save no more; what is under way comes to its end before this returns."""
        self._is_stopped = True
        if self._task is None:
            return
        import asyncio

        self._woken.set()
        try:
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            await until_done(self._task)
            raise

    async def _run(self) -> None:
        import asyncio

        while not self._is_stopped:
            wait_s = self._wait_s()
            if wait_s != 0:
                self._woken.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._woken.wait()
                continue
            try:
                await self._save()
            except Exception as error:  # noqa: BLE001 - raised where the answer is read
                self._error = error
                return


class Saver:
    """Saves as it is woken."""

    def __init__(self, save: Callable[[], object], wait_s: Callable[[], float | None]) -> None:
        self._save = save
        self._wait_s = wait_s

    def wake(self) -> None:
        """Save if it is time to."""
        if self._wait_s() == 0:
            self._save()

    def stop(self) -> None:
        """Do nothing: nothing is under way."""
