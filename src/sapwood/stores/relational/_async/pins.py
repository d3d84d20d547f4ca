"""Which messages a session has pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pins import PINS_KEY, pinned_ids
from ..rows import DOCUMENT_EXPIRES_AT, SessionRow

if TYPE_CHECKING:
    from .dialect import AsyncDialect


async def find_pins(dialect: AsyncDialect, session: SessionRow) -> list[int]:
    """Return the positions of the live messages that are pinned; damage is `StoreCorruptError`."""
    documents = dialect.documents
    found = await documents.find(documents.scope_of(session), PINS_KEY)
    if found is None:
        return []
    expires_at = found[DOCUMENT_EXPIRES_AT]
    if expires_at is not None and expires_at <= await dialect.now():
        return []
    ids = pinned_ids(documents.document_of(found).value, session.id)
    seen = await dialect.lookup.find_all_seen(session, ids)
    return [it.pos for it in seen.values() if it.is_live]
