"""Units of work on servers: each event loop has a runner of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ....calls import AsyncAnswer
from ..loops import AsyncPerLoop
from .runner import AsyncRunner
from .unit import AsyncUnit

T = TypeVar("T")
R = TypeVar("R", bound=AsyncRunner)


class AsyncPerLoopRunner(AsyncRunner, Generic[R]):
    """Passes units of work on to the runner of the loop that they are asked for on."""

    def __init__(self, make: Callable[[], R], *, given: str = "", outlives: bool = False) -> None:
        self._runners = AsyncPerLoop(make, _close, given=given, outlives=outlives)

    def here(self) -> R:
        """Give the runner to use here, with all that it can do."""
        return self._runners.here()

    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work that only reads, on one snapshot."""
        return await self.here().read(work)

    async def glance(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work that reads with one statement, which is its own snapshot."""
        return await self.here().glance(work)

    async def write(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work and commit it; its outcome is told after the commit."""
        return await self.here().write(work)

    async def settle(self) -> None:
        """Finish what deletions left to be done, and bring what is derived up to date."""
        await self.here().settle()

    async def migrate(self) -> int:
        """Bring the schema up to date; give its version."""
        return await self.here().migrate()

    async def repair(self) -> None:
        """Rebuild what is derived."""
        await self.here().repair()

    async def aclose(self) -> None:
        """Let go of the connections of all loops."""
        await self._runners.aclose()


async def _close(runner: AsyncRunner) -> None:
    await runner.aclose()
