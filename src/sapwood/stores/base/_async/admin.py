"""The calls about a store as a whole, as units of work."""

from __future__ import annotations

from pathlib import Path

from ....model import ChangedOwners, Health, OwnedSessionPage, Problem, SessionQuery
from ....rules import check
from ....store._async.admin import AsyncStoreAdmin, Progress
from .runner import AsyncRunner


class AsyncBaseAdmin(AsyncStoreAdmin):
    """The calls about a store as a whole."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def health(self) -> Health:
        return await self._runner.read(lambda unit: unit.admin.health())

    async def schema_version(self) -> int:
        return await self._runner.read(lambda unit: unit.admin.schema_version())

    async def migrate(self) -> int:
        return await self._runner.migrate()

    async def check(self) -> list[Problem]:
        return await self._runner.read(lambda unit: unit.admin.check())

    async def repair(self) -> list[Problem]:
        await self._runner.repair()
        return await self.check()

    async def backup(
        self, path: str | Path, *, replace: bool = False, progress: Progress | None = None
    ) -> None:
        await self._runner.backup(Path(path), replace, progress)

    async def list_owners(self) -> list[str]:
        return await self._runner.read(lambda unit: unit.admin.owners())

    async def changed_owners(self, after: str = "", limit: int = 500) -> ChangedOwners:
        check.feed(after, limit, None)
        return await self._runner.read(lambda unit: unit.admin.changed_owners(after, limit))

    async def list_sessions(self, query: SessionQuery) -> OwnedSessionPage:
        check.owners_query(query)
        return await self._runner.read(lambda unit: unit.sessions.list_of_all(query))
