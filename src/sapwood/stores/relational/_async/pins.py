"""Which messages a session has pinned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....calls import AsyncAnswer
from ..pins import PINS_KEY, pinned_ids
from ..rows import DOCUMENT_EXPIRES_AT, SessionRow
from .documents import AsyncDocumentStatements
from .lookup import AsyncLookupStatements


async def find_pins(
    documents: AsyncDocumentStatements[Any],
    lookup: AsyncLookupStatements[Any],
    now: Callable[[], AsyncAnswer[int]],
    session: SessionRow,
) -> list[int]:
    """Return the positions of the live messages that are pinned; damage is `StoreCorruptError`."""
    found = await documents.find(documents.scope_of(session), PINS_KEY)
    if found is None:
        return []
    expires_at = found[DOCUMENT_EXPIRES_AT]
    if expires_at is not None and expires_at <= await now():
        return []
    ids = pinned_ids(documents.document_of(found).value, session.id)
    seen = await lookup.find_all_seen(session, ids)
    return [it.pos for it in seen.values() if it.is_live]
