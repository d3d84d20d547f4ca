"""One at a time, across processes: a document of the session that expires."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ...errors import NotFoundError, SapwoodError, StaleVersionError, StoreError
from ...model import Fence
from .stored_session import AsyncStoredSession

logger = logging.getLogger(__name__)

KEY = "compaction"


@asynccontextmanager
async def compaction_lease(
    stored: AsyncStoredSession, seconds: float
) -> AsyncIterator[Fence | None]:
    """Hold the right to compact a session; None while somebody else has it.

    By the store's clock it ends by itself.
    """
    # By it a lease is known again whose version was never told.
    new_id = stored.setup.new_id
    mark = b"{}" if new_id is None else f'"{new_id()}"'.encode()
    fence = await _take(stored, seconds, mark)
    try:
        yield fence
    finally:
        if fence is not None:
            await _release(stored, fence)


async def _take(stored: AsyncStoredSession, seconds: float, mark: bytes) -> Fence | None:
    try:
        document = await stored.store.put_document(
            stored.owner,
            KEY,
            mark,
            session=stored.id,
            expected_version=0,
            expires_in_s=seconds,
        )
    except StaleVersionError:
        return None
    except BaseException:
        # A cancelled write may have gone through all the same.
        with suppress(SapwoodError):
            mine = None if mark == b"{}" else await stored.find_document(KEY)
            if mine is not None and mine.value == mark:
                await _release(stored, Fence(key=KEY, version=mine.version))
        raise
    return Fence(key=KEY, version=document.version)


async def _release(stored: AsyncStoredSession, fence: Fence) -> None:
    """Release it, unless somebody else has it by now; what cannot be given back ends by itself."""
    try:
        await stored.store.delete_document(
            stored.owner, KEY, session=stored.id, expected_version=fence.version
        )
    except (StaleVersionError, NotFoundError):
        # It ran out and was taken by another, or the session is gone.
        return
    except StoreError:
        logger.warning("the lease of %r could not be given back", stored.id, exc_info=True)
