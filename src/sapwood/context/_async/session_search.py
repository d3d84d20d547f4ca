"""Looking into the owner's sessions: find, read around a hit, browse. No model is called."""

from __future__ import annotations

from ...errors import NotFoundError
from ...model import Entry, Message, Read, Search, SessionQuery
from ...store._async.contract import AsyncStore
from ..listings import NOTHING_FOUND, show_entries, show_hits, show_sessions


class AsyncSessionSearch:
    """The sessions of one owner, as seen from one of them."""

    def __init__(self, store: AsyncStore, owner: str, session: str) -> None:
        self._store = store
        self._owner = owner
        self._session = session

    async def answer(
        self, query: str | None, session: str | None, around: str | None, limit: int
    ) -> str:
        """Do what the arguments ask for, and give it as text."""
        if query:
            search = Search(text=query, session=session, limit=limit)
            hits = (await self._store.search(self._owner, search)).hits
            return show_hits(hits, self._session) or NOTHING_FOUND
        if around:
            return show_entries(await self._around(session or self._session, around, limit), around)
        if session:
            read = Read(limit=limit, backwards=True)
            history = await self._store.read(self._owner, session, read)
            return show_entries(history.entries) or f"Session {session!r} is empty."
        page = await self._store.list_sessions(self._owner, SessionQuery(limit=limit))
        return show_sessions(page.sessions, self._session) or NOTHING_FOUND

    async def _around(self, session: str, id: str, limit: int) -> list[Entry]:
        """Read the messages above and below, on the path to the tip if the message is on it."""
        [message] = await self._store.find_messages(self._owner, session, [id])
        if message is None:
            raise NotFoundError(f"session {session!r} has no message {id!r}", kind="message", id=id)
        above = max(0, message.depth - 1 - limit // 2)
        below = message.depth + 1 + (limit - 1) // 2
        for leaf in (None, id):
            read = Read(leaf=leaf, overlays=False, after=above, before=below)
            entries = (await self._store.read(self._owner, session, read)).entries
            if any(isinstance(it, Message) and it.id == id for it in entries):
                return entries
        return [message]
