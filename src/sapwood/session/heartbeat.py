"""Leases that are renewed while their holder is at work: in a task, or in a thread.

`AsyncHeartbeat` is for the async twin and `Heartbeat` for the sync one; they have the same methods.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..errors import ConflictError, NotFoundError, SapwoodError
from ..stores.base.queues import until_done

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger(__name__)

BEATS = 3
"""How often a lease is renewed in the time that it lasts."""
TRIES = 5
"""How often it is tried in the time of one beat while it fails."""


class HeldLease:
    """How long a lease is held, as far as its holder can tell: from before the store was asked.

    `on_lost` is called, once each time, when somebody took it, or it could not be renewed in time.
    In the second case it may be renewed later, and is held again, if nobody took it meanwhile.
    """

    def __init__(
        self,
        lease_s: float,
        *,
        on_lost: Callable[[], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lease_s = lease_s
        self._on_lost = on_lost
        self._clock = clock
        self._is_taken = False
        self._is_told = False
        self._held_until, self._next_at = 0.0, 0.0
        self._renewed(clock())

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it by now."""
        return not self._is_taken and self._clock() < self._held_until

    def _wait_s(self) -> float:
        """Return for how long there is nothing to do."""
        until = self._next_at if self._is_told else min(self._next_at, self._held_until)
        return max(0.0, until - self._clock())

    def _is_due(self) -> bool:
        """Whether it is to be renewed; tell its holder if the time is over."""
        now = self._clock()
        if now >= self._held_until:
            self._tell()
        return now >= self._next_at

    def _begin(self) -> float:
        return self._clock()

    def _renewed(self, begun: float) -> None:
        self._held_until = begun + self._lease_s
        self._next_at = begun + self._lease_s / BEATS
        self._is_told = False

    def _failed(self, error: Exception) -> None:
        """Note what went wrong: that it is somebody else's, or that the store does not answer."""
        if isinstance(error, ConflictError | NotFoundError):
            self._is_taken = True
            self._tell()
            return
        if not isinstance(error, SapwoodError):
            logger.warning("a lease could not be renewed", exc_info=error)
        self._next_at = self._clock() + self._lease_s / (BEATS * TRIES)

    def _tell(self) -> None:
        if self._is_told:
            return
        self._is_told = True
        if self._on_lost is not None:
            try:
                self._on_lost()
            except Exception:
                logger.warning("who held a lease could not be told that it is lost", exc_info=True)


class AsyncHeartbeat(HeldLease):
    """Renews a lease on an event loop; make it before the lease is taken."""

    def start(self, renew: Callable[[], Awaitable[object]]) -> None:
        """Begin to renew it."""
        import asyncio

        self._stopped = asyncio.Event()
        self._task: asyncio.Task[None] = asyncio.ensure_future(self._beat(renew))

    async def stop(self) -> None:
        """Renew it no more; what is under way comes to its end before this returns."""
        import asyncio

        self._stopped.set()
        try:
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            await until_done(self._task)
            raise

    async def _beat(self, renew: Callable[[], Awaitable[object]]) -> None:
        while not self._is_taken and not await self._pause():
            if self._is_due():
                begun = self._begin()
                try:
                    await renew()
                except Exception as error:  # noqa: BLE001 - it is noted, and the holder told
                    self._failed(error)
                else:
                    self._renewed(begun)

    async def _pause(self) -> bool:
        """Wait until there is something to do; return whether that is to end."""
        import asyncio

        try:
            async with asyncio.timeout(self._wait_s()):
                await self._stopped.wait()
        except TimeoutError:
            return False
        return True


class Heartbeat(HeldLease):
    """Renews a lease in a thread; make it before the lease is taken."""

    def start(self, renew: Callable[[], object]) -> None:
        """Begin to renew it."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(renew,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Renew it no more; what is under way comes to its end before this returns."""
        self._stopped.set()
        self._thread.join()

    def _beat(self, renew: Callable[[], object]) -> None:
        while not self._is_taken and not self._stopped.wait(self._wait_s()):
            if self._is_due():
                begun = self._begin()
                try:
                    renew()
                except Exception as error:  # noqa: BLE001 - it is noted, and the holder told
                    self._failed(error)
                else:
                    self._renewed(begun)
