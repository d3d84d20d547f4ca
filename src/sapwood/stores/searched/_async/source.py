"""What an index is filled from and checked against: a store, asked through its contract.

A store that can answer for several sessions at once has a source of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....errors import NotFoundError, StoreCorruptError
from ....model import Message, Overlay, SessionQuery, SessionRecord
from ....store._async.contract import AsyncStore
from ...base.refusals import no_session

AT_ONCE = 500
PAGE = 1_000
SKIMMED = 10_000


WantedEntries = Mapping[str, tuple[Sequence[str], bool]]
"""By session: the ids of messages, and whether its overlays are wanted."""


class SourceContent(NamedTuple):
    """What was asked for of a session, by ids, and its overlays in force."""

    messages: dict[str, Message]
    overlays: list[Overlay]


class Standpoint(NamedTuple):
    """A session that is there: when it was made, and how deep its fork point is, if it has one."""

    created_us: int
    forked_at: int | None


class AsyncSource:
    """Asks a store, one session at a time."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def end_of_feed(self, owner: str) -> str:
        """Return a cursor behind which all is read; it may be a while before what holds it back."""
        cursor, more = "", True
        while more:
            page = await self._store.changes(owner, after=cursor, limit=SKIMMED)
            # A feed that is held back says that there is more: that is followed later.
            more = page.more and page.cursor != cursor
            cursor = page.cursor
        return cursor

    async def standpoint(self, owner: str, session: str) -> Standpoint:
        """Get a session as it was when the feed was followed, or later."""
        record = await self._store.find_session(owner, session)
        if record is None:
            raise no_session(session)
        at = record.forked_at
        return Standpoint(record.created_us, None if at is None else at.depth)

    async def look(
        self, owner: str, wanted: WantedEntries, *, as_followed: bool = False
    ) -> dict[str, SourceContent]:
        """Look at sessions as they are now, or at least as they were when the feed was followed.

        Nothing is given of sessions that are gone, or of what cannot be decoded.
        """
        seen: dict[str, SourceContent] = {}
        for session, (ids, has_overlays) in wanted.items():
            overlays: list[Overlay] = []
            if has_overlays:
                overlays = await overlays_of(self._store, owner, session)
            seen[session] = SourceContent(
                await find_sound(self._store, owner, session, ids), overlays
            )
        return seen


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
