"""What belongs to an event loop is made for each one that a store is used on.

Connections, and those who wait for them, are of the loop that they were made on. So each loop has
its own of all that, as each process has, and is never in another's way.

`AsyncPerLoop` is for the async twin and `PerLoop` for the sync one; they have the same methods.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from ...errors import UsageError
from .refusals import store_closed

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger(__name__)

T = TypeVar("T")

CLOSE_WITHIN_S = 2.0
"""How long to wait for other loops: one that is blocked closes its own when it goes on."""


class _Kept(Generic[T]):
    """What one loop has."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thing: T) -> None:
        self.loop = loop
        self.thing = thing
        self.keeper: AsyncGenerator[None, None]
        self.ending: asyncio.Task[None]

    async def end(self) -> None:
        """Close it, on its loop."""
        await self.keeper.aclose()

    def end_from(self, here: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """Let it be closed on its loop; return what becomes done on another one when it is."""
        ended = here.create_future()

        def start() -> None:
            self.ending = self.loop.create_task(self.end())
            self.ending.add_done_callback(tell)

        def tell(ending: asyncio.Task[None] | None = None) -> None:
            if ending is not None and not ending.cancelled():
                ending.exception()  # of a loop that came to its end meanwhile, and closed it
            with suppress(RuntimeError):  # nobody waits any more
                here.call_soon_threadsafe(ended.set_result, None)

        try:
            self.loop.call_soon_threadsafe(start)
        except RuntimeError:  # the loop was closed
            tell()
        return ended


class AsyncPerLoop(Generic[T]):
    """One thing for each event loop, closed on it when the store is, or when the loop ends.

    `given` names what somebody brought along, which is of the first loop that it is used on; with
    `outlives`, of another one after that was closed.
    """

    def __init__(
        self,
        make: Callable[[], T],
        close: Callable[[T], Awaitable[None]],
        *,
        given: str = "",
        outlives: bool = False,
    ) -> None:
        self._make = make
        self._close = close
        self._given = given
        self._outlives = outlives
        self._guard = threading.Lock()
        # The first is made here: what is wrong with it is told where the store is opened.
        self._spare = [make()]
        self._kept: dict[asyncio.AbstractEventLoop, _Kept[T]] = {}
        self._last: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def here(self) -> T:
        """Return what belongs to the loop that is running."""
        import asyncio

        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        if kept is None or self._is_closed:
            kept = self._meet(loop)
        return kept.thing

    def _meet(self, loop: asyncio.AbstractEventLoop) -> _Kept[T]:
        with self._guard:
            if self._is_closed:
                raise store_closed()
            self._refuse_other(loop)
            # One that was closed by hand left what cannot be closed any more.
            self._kept = {loop: it for loop, it in self._kept.items() if not loop.is_closed()}
            kept = _Kept(loop, self._spare.pop() if self._spare else self._make())
            kept.keeper = self._keep(kept)
            # It begins here, so that the loop knows of it, and ends it before itself.
            with suppress(StopIteration):
                kept.keeper.__anext__().send(None)
            self._kept[loop], self._last = kept, loop
            return kept

    def _refuse_other(self, loop: asyncio.AbstractEventLoop) -> None:
        last = self._last
        if not self._given or last is None or last is loop:
            return
        if not (self._outlives and last.is_closed()):
            raise UsageError(
                f"the {self._given} that the store was given belongs to another event loop: "
                "open the store in the loop that uses it, or by a URL, for any number of loops"
            )

    async def _keep(self, kept: _Kept[T]) -> AsyncGenerator[None, None]:
        """Wait for the end, and close what one loop has."""
        try:
            yield
        finally:
            with self._guard:
                if self._kept.get(kept.loop) is kept:
                    del self._kept[kept.loop]
            await self._let_go(kept.thing)

    async def _let_go(self, thing: T) -> None:
        import asyncio

        try:
            try:
                await self._close(thing)
            except asyncio.CancelledError:
                # As a loop does to all that is under way when it ends.
                await self._close(thing)
                raise
        except Exception:
            logger.warning("connections could not be closed in good order", exc_info=True)

    async def aclose(self) -> None:
        """Close what all loops have; closing again does nothing, nor does it ever fail."""
        import asyncio

        with self._guard:
            self._is_closed = True
            spare, self._spare = self._spare, []
            kept, self._kept = self._kept, {}
        here = asyncio.get_running_loop()
        own = kept.pop(here, None)
        asked = {loop: it.end_from(here) for loop, it in kept.items()}
        for thing in spare:
            await self._let_go(thing)
        if own is not None:
            await own.end()
        if others := [closed for loop, closed in asked.items() if loop.is_running()]:
            await asyncio.wait(others, timeout=CLOSE_WITHIN_S)


class PerLoop(Generic[T]):
    """One thing for all threads."""

    def __init__(
        self,
        make: Callable[[], T],
        close: Callable[[T], None],
        *,
        given: str = "",
        outlives: bool = False,
    ) -> None:
        self._thing = make()
        self._close = close
        self._is_closed = False

    def here(self) -> T:
        """Return it."""
        return self._thing

    def close(self) -> None:
        """Close it; closing again does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._close(self._thing)
