"""How a store carries out units of work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from ....calls import AsyncAnswer
from ....errors import UnsupportedOperationError
from ....model import Appended
from ....store._async.admin import Progress
from ..append_request import Request
from ..loops import AsyncPerLoop
from .unit import AsyncUnit

T = TypeVar("T")


class AsyncRunner(ABC):
    """Carries out units of work, each as a whole."""

    @abstractmethod
    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work that only reads, on one snapshot."""

    async def glance(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work that reads with one statement, which is its own snapshot."""
        return await self.read(work)

    @abstractmethod
    async def write(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        """Run work and commit it; its outcome is told after the commit."""

    async def append(self, request: Request) -> Appended:
        """Append messages; a runner may have a way of its own for what is done all the time."""
        return await self.write(lambda unit: unit.messages.append(request))

    @abstractmethod
    async def finish_deletions(self) -> None:
        """Finish what deletions left to be done, and bring what is derived up to date."""

    @abstractmethod
    async def migrate(self) -> int:
        """Bring the schema up to date; return its version."""

    @abstractmethod
    async def repair(self) -> None:
        """Rebuild what is derived."""

    async def backup(self, path: Path, replace: bool, progress: Progress | None) -> None:
        """Copy what is stored into a file."""
        raise UnsupportedOperationError(
            "this store cannot be copied into a file: export its sessions instead"
        )

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of files and threads."""


R = TypeVar("R", bound=AsyncRunner)


class AsyncPerLoopRunner(AsyncRunner, Generic[R]):
    """Passes units of work on to the runner of the event loop that they are asked for on."""

    def __init__(self, make: Callable[[], R], *, given: str = "", outlives: bool = False) -> None:
        self._runners = AsyncPerLoop(
            make, lambda runner: runner.aclose(), given=given, outlives=outlives
        )

    def here(self) -> R:
        """Return the runner to use here, with all that it can do."""
        return self._runners.here()

    async def read(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return await self.here().read(work)

    async def glance(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return await self.here().glance(work)

    async def write(self, work: Callable[[AsyncUnit], AsyncAnswer[T]]) -> T:
        return await self.here().write(work)

    async def append(self, request: Request) -> Appended:
        return await self.here().append(request)

    async def finish_deletions(self) -> None:
        await self.here().finish_deletions()

    async def migrate(self) -> int:
        return await self.here().migrate()

    async def repair(self) -> None:
        await self.here().repair()

    async def aclose(self) -> None:
        """Let go of the connections of all loops."""
        await self._runners.aclose()
