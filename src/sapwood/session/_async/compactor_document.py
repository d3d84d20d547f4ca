"""The session's document `compactor`: what is remembered from one compaction to the next."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...errors import StaleVersionError
from ..compactor_state import KEY, CompactorState, state_in
from .stored_session import AsyncStoredSession


class AsyncCompactorDocument:
    """Reads and changes the document; changes of several processes are all kept."""

    __slots__ = ("_stored",)

    def __init__(self, stored: AsyncStoredSession) -> None:
        self._stored = stored

    async def load(self) -> CompactorState:
        """Return what is remembered; the default when there is nothing."""
        return state_in(await self._stored.find_document(KEY), self._stored.id)

    async def change(self, change: Callable[[CompactorState], CompactorState]) -> None:
        """Change what is remembered; called again when another writer was faster."""
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            document = await self._stored.find_document(KEY)
            value = msgspec.json.encode(change(state_in(document, self._stored.id)))
            version = 0 if document is None else document.version
            try:
                await self._stored.put_document(KEY, value, expected_version=version)
            except StaleVersionError:
                continue
            return

    async def delete(self) -> None:
        """Forget everything."""
        await self._stored.delete_document(KEY)
