"""The SQLite store, for threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...model import UsageTotal
from ...rules import check
from ...rules.codec import MAX_MESSAGE_BYTES
from ...store import Capability
from ..base._sync.store import BaseStore
from .connection import Durability
from .database import PATIENCE_S, Database


class SqliteStore(BaseStore):
    """Sessions in a SQLite file, for threads."""

    capabilities = frozenset(
        {Capability.DURABLE, Capability.SHARED, Capability.BACKUP, Capability.DATA}
    )

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
        self._database = Database(
            path, clock=clock, durability=durability, patience_s=patience_s, vfs=vfs
        )
        super().__init__(self._database, new_id=new_id, max_message_bytes=max_message_bytes)

    def total_owner_usage(self, owner: str) -> list[UsageTotal]:
        check.owner(owner)
        return self._database.read(lambda unit: unit.usage.totals_of_owner(owner))
