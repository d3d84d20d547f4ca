"""The SQLite store, for an event loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...model import UsageTotal
from ...rules import check
from ...rules.codec import MAX_MESSAGE_BYTES
from ..base._async.store import AsyncBaseStore
from .connection import Durability
from .database import PATIENCE_S, Database
from .loop import AsyncSqliteRunner
from .store import SqliteStore


class AsyncSqliteStore(AsyncBaseStore):
    """Sessions in a SQLite file, for an event loop."""

    capabilities = SqliteStore.capabilities

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        durability: Durability = "full",
        patience_s: float = PATIENCE_S,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        vfs: str | None = None,
    ) -> None:
        database = Database(
            path, clock=clock, durability=durability, patience_s=patience_s, vfs=vfs
        )
        self._sqlite = AsyncSqliteRunner(database)
        super().__init__(self._sqlite, new_id=new_id, max_message_bytes=max_message_bytes)

    async def total_owner_usage(self, owner: str) -> list[UsageTotal]:
        check.owner(owner)
        return await self._sqlite.read_own(lambda unit: unit.usage.totals_of_owner(owner))
