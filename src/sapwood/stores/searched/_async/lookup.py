"""Looking into the store: what cannot be decoded is passed over, whoever reads it is told."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import NotFoundError, StoreCorruptError
from ....model import Message, Overlay, SessionQuery, SessionRecord
from ....store._async.contract import AsyncStore

AT_ONCE = 500
PAGE = 1_000


async def find_sound(
    store: AsyncStore, owner: str, session: str, ids: Sequence[str]
) -> dict[str, Message]:
    """Find messages that a session sees, by their ids; none when the session is gone."""
    found: dict[str, Message] = {}
    if not session:
        return found
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        try:
            messages = await store.find_messages(owner, session, some)
        except NotFoundError:
            return {}
        except StoreCorruptError:
            messages = [await _find_one(store, owner, session, id) for id in some]
        found.update({message.id: message for message in messages if message is not None})
    return found


async def _find_one(store: AsyncStore, owner: str, session: str, id: str) -> Message | None:
    try:
        [message] = await store.find_messages(owner, session, [id])
    except (NotFoundError, StoreCorruptError):
        return None
    return message


async def overlays_of(store: AsyncStore, owner: str, session: str) -> list[Overlay]:
    """List the overlays in force for a session; none when it is gone."""
    try:
        return await store.list_overlays(owner, session)
    except NotFoundError:
        return []


async def sessions_of(store: AsyncStore, owner: str) -> list[SessionRecord]:
    """List all sessions of an owner, the oldest first."""
    found: list[SessionRecord] = []
    cursor: str | None = None
    while True:
        query = SessionQuery(order="created", limit=PAGE, cursor=cursor)
        page = await store.list_sessions(owner, query)
        found += page.sessions
        cursor = page.cursor
        if cursor is None:
            return found[::-1]
