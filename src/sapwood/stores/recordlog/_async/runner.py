"""Carrying out units of work on a record log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ....calls import AsyncAnswer
from ...base._async.runner import AsyncRunner
from ...base.refusals import store_closed
from .driver import AsyncLogDriver
from .logs import AsyncLogs
from .maintenance import settle
from .unit import AsyncLogUnit

T = TypeVar("T")


class AsyncLogRunner(AsyncRunner):
    """Units of work, each of which commits itself by the one record that it creates."""

    def __init__(
        self,
        driver: AsyncLogDriver,
        *,
        new_id: Callable[[], str],
        clock: Callable[[], int] | None,
        auto_migrate: bool,
    ) -> None:
        self.logs = AsyncLogs(driver, new_id, clock)
        self.unit = AsyncLogUnit(self.logs)
        self._driver = driver
        self._auto_migrate = auto_migrate
        self._is_ready = False
        self._is_closed = False

    async def read(self, work: Callable[[AsyncLogUnit], AsyncAnswer[T]]) -> T:
        """Run work that only reads."""
        await self._make_ready()
        return await work(self.unit)

    async def write(self, work: Callable[[AsyncLogUnit], AsyncAnswer[T]]) -> T:
        """Run work whose outcome is told after its record was created."""
        await self._make_ready()
        return await self.logs.queues.to_the_end(lambda: work(self.unit))

    async def ready_unit(self) -> AsyncLogUnit:
        """Return the subjects of work, for reads that the contract does not have."""
        await self._make_ready()
        return self.unit

    async def settle(self) -> None:
        """Finish what units of work left to be done."""
        await self._make_ready()
        await settle(self.logs)

    async def repair(self) -> None:
        """Rebuild what is derived."""
        await self.write(lambda unit: unit.admin.repair())

    async def migrate(self) -> int:
        """Set up what is missing; return the schema's version."""
        self._refuse_closed()
        await self._driver.make_ready(may_migrate=True)
        self._is_ready = True
        return await self._driver.schema_version()

    async def _make_ready(self) -> None:
        self._refuse_closed()
        if not self._is_ready:
            await self._driver.make_ready(may_migrate=self._auto_migrate)
            self._is_ready = True

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise store_closed()

    async def aclose(self) -> None:
        """Let go of connections."""
        self._is_closed = True
        await self._driver.aclose()
