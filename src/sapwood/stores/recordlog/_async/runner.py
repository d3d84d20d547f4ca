"""Carrying out units of work on a record log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ....calls import AsyncAnswer
from ...base._async.runner import AsyncRunner
from ...base.refusals import store_closed
from .admin import AsyncLogAdmin
from .data import AsyncLogData
from .documents import AsyncLogDocuments
from .driver import AsyncLogDriver
from .feed import AsyncLogFeed
from .logs import AsyncLogs
from .messages import AsyncLogMessages
from .overlays import AsyncLogOverlays
from .rewriting import AsyncLogRewriting
from .search import AsyncLogIndexReads, AsyncLogSearch
from .sessions import AsyncLogSessions
from .sweep import finish_deletions
from .usage import AsyncLogUsage

T = TypeVar("T")


class AsyncLogUnit:
    """The subjects of work, over one database."""

    def __init__(self, logs: AsyncLogs) -> None:
        self.logs = logs
        self.sessions = AsyncLogSessions(logs)
        self.messages = AsyncLogMessages(logs)
        self.data = AsyncLogData(logs)
        self.overlays = AsyncLogOverlays(logs)
        self.documents = AsyncLogDocuments(logs)
        self.rewriting = AsyncLogRewriting(logs)
        self.search = AsyncLogSearch(logs)
        self.index_reads = AsyncLogIndexReads(logs)
        self.usage = AsyncLogUsage(logs)
        self.feed = AsyncLogFeed(logs)
        self.admin = AsyncLogAdmin(logs)


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
        self._auto_migrate = auto_migrate
        self._is_ready = False
        self._is_closed = False

    async def read(self, work: Callable[[AsyncLogUnit], AsyncAnswer[T]]) -> T:
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

    async def finish_deletions(self) -> None:
        await self._make_ready()
        await finish_deletions(self.logs)

    async def repair(self) -> None:
        await self.write(lambda unit: unit.admin.repair())

    async def migrate(self) -> int:
        """Set up what is missing; return the schema's version."""
        self._refuse_closed()
        await self.logs.driver.make_ready(may_migrate=True)
        self._is_ready = True
        return await self.logs.driver.schema_version()

    async def _make_ready(self) -> None:
        self._refuse_closed()
        if not self._is_ready:
            await self.logs.driver.make_ready(may_migrate=self._auto_migrate)
            self._is_ready = True

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise store_closed()

    async def aclose(self) -> None:
        self._is_closed = True
        await self.logs.driver.aclose()
