"""One at a time, across processes: a document of the session that expires."""

from __future__ import annotations

from ...errors import StaleVersionError
from ...model import Fence
from ...store._async.contract import AsyncStore

KEY = "compaction"


class AsyncLease:
    """The right to compact a session."""

    def __init__(self, store: AsyncStore, owner: str, session: str, seconds: float) -> None:
        self._store = store
        self._owner = owner
        self._session = session
        self._seconds = seconds

    async def take(self) -> Fence | None:
        """Take it; None while somebody else has it. By the store's clock it ends by itself."""
        try:
            document = await self._store.put_document(
                self._owner,
                KEY,
                b"{}",
                session=self._session,
                expected_version=0,
                expires_in_s=self._seconds,
            )
        except StaleVersionError:
            return None
        return Fence(key=KEY, version=document.version)

    async def release(self, fence: Fence) -> None:
        """Give it back, unless somebody else has it by now."""
        try:
            await self._store.delete_document(
                self._owner, KEY, session=self._session, expected_version=fence.version
            )
        except StaleVersionError:
            # It ran out, and was taken by another.
            return
