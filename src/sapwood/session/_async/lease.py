"""One at a time, across processes: a document of the session that expires."""

from __future__ import annotations

import logging
from contextlib import suppress

from ...errors import NotFoundError, SapwoodError, StaleVersionError, StoreError
from ...model import Fence
from .stored_session import AsyncStoredSession

logger = logging.getLogger(__name__)

KEY = "compaction"


class AsyncLease:
    """The right to compact a session."""

    def __init__(self, stored: AsyncStoredSession, seconds: float) -> None:
        self._stored = stored
        self._seconds = seconds
        # By it a lease is known again whose version was never told.
        new_id = stored.setup.new_id
        self._mark = b"{}" if new_id is None else f'"{new_id()}"'.encode()

    async def take(self) -> Fence | None:
        """Take it; None while somebody else has it. By the store's clock it ends by itself."""
        stored = self._stored
        try:
            document = await stored.store.put_document(
                stored.owner,
                KEY,
                self._mark,
                session=stored.id,
                expected_version=0,
                expires_in_s=self._seconds,
            )
        except StaleVersionError:
            return None
        except BaseException:
            # A cancelled write may have gone through all the same.
            with suppress(SapwoodError):
                mine = None if self._mark == b"{}" else await stored.find_document(KEY)
                if mine is not None and mine.value == self._mark:
                    await self.release(Fence(key=KEY, version=mine.version))
            raise
        return Fence(key=KEY, version=document.version)

    async def release(self, fence: Fence) -> None:
        """Release it, unless somebody else has it by now.

        What cannot be given back ends by itself.
        """
        stored = self._stored
        try:
            await stored.store.delete_document(
                stored.owner, KEY, session=stored.id, expected_version=fence.version
            )
        except (StaleVersionError, NotFoundError):
            # It ran out and was taken by another, or the session is gone.
            return
        except StoreError:
            logger.warning("the lease of %r could not be given back", stored.id, exc_info=True)
