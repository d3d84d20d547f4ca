"""The facade's calls about data at positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....errors import UsageError
from ....model import DataVersion, NewMessage, Position, Root
from ....rules import check
from ....rules.codec import Packed, pack_all
from ....rules.data import with_data
from ....store._async.data import AsyncDataCalls
from ....store.capability import Capability
from ..refusals import no_data
from .runner import AsyncRunner

MOST_VERSIONS = 10_000


class AsyncBaseData(AsyncDataCalls):
    """Checks arguments, and makes each call a unit of work."""

    capabilities: frozenset[Capability]
    max_message_bytes: int
    _runner: AsyncRunner
    _new_id: Callable[[], str]

    async def read_data(self, owner: str, session: str, position: Position) -> DataVersion | None:
        found = await self.list_data(owner, session, position, limit=1)
        return found[0] if found else None

    async def list_data(
        self, owner: str, session: str, position: Position, *, limit: int = 100
    ) -> list[DataVersion]:
        check.owner_and_session(owner, session)
        check.position(position, "position")
        check.count(limit, "limit", 1, MOST_VERSIONS)
        self._refuse_data()
        return await self._runner.read(
            lambda unit: unit.data.versions(owner, session, position, limit)
        )

    async def erase_data(self, owner: str, session: str, field: str) -> int:
        check.owner_and_session(owner, session)
        check.text(field, "field")
        self._refuse_data()
        return await self._runner.write(lambda unit: unit.data.erase(owner, session, field))

    def _refuse_data(self) -> None:
        if Capability.DATA not in self.capabilities:
            raise no_data()

    def _check_expected_data(self, expected: Position | Root | None) -> None:
        if expected is None:
            return
        if not isinstance(expected, Root):
            check.position(expected, "expected_data")
        self._refuse_data()

    def _batch(
        self, messages: Sequence[NewMessage], data: dict[str, Any] | None, id: str | None
    ) -> list[Packed]:
        """Return what is to be appended: messages, the last of them with data, or a mark."""
        if id is not None and (data is None or len(messages)):
            raise UsageError("id names a mark, which has data and no message", path="id")
        if data is None:
            return pack_all(messages, self._new_id, self.max_message_bytes)
        most = self.max_message_bytes
        # Only what is a list, and empty, is a mark.
        is_mark = isinstance(messages, Sequence) and not messages
        batch = [] if is_mark else pack_all(messages, self._new_id, most)
        whole = with_data(batch, data, id, self._new_id, most)
        self._refuse_data()
        return whole
