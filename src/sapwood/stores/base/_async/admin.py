"""The calls about a store as a whole, as units of work."""

from __future__ import annotations

from pathlib import Path

from ....model import (
    ChangedOwners,
    Health,
    OwnedSessionPage,
    Problem,
    Rewritten,
    SessionQuery,
)
from ....rules import check
from ....store._async.admin import AsyncStoreAdmin, Progress, Rewrite
from .rewriting import AsyncRewriting
from .runner import AsyncRunner


class AsyncBaseAdmin(AsyncStoreAdmin):
    """The calls about a store as a whole."""

    def __init__(self, runner: AsyncRunner, *, max_bytes: int, has_data: bool) -> None:
        self._runner = runner
        self._max_bytes = max_bytes
        self._has_data = has_data

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

    async def rewrite(
        self, owner: str, function: Rewrite, *, after: str = "", limit: int = 1_000
    ) -> Rewritten:
        check.owner(owner)
        check.function(function, "function")
        check.text(after, "after")
        check.count(limit, "limit", 1)
        rewriting = AsyncRewriting(
            self._runner,
            owner,
            function,
            max_bytes=self._max_bytes,
            has_data=self._has_data,
        )
        return await rewriting.run(after, limit)

    async def list_sessions(self, query: SessionQuery) -> OwnedSessionPage:
        check.owners_query(query)
        return await self._runner.read(lambda unit: unit.sessions.list_of_all(query))
