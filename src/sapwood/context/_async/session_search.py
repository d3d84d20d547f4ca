"""Looking into the owner's sessions: find, read around a hit, browse. No model is called."""

from __future__ import annotations

from ...errors import NotFoundError
from ...model import Entry, Message, Read, Search, SessionQuery
from ...store._async.contract import AsyncStore
from ..listings import NOTHING_FOUND, show_entries, show_hits, show_sessions
from .context import AsyncContext


async def answer_search(
    context: AsyncContext,
    query: str | None,
    session: str | None,
    around: str | None,
    limit: int,
) -> str:
    """Do what the arguments ask for, as seen from the context's session, and give it as text."""
    store, owner, here = context.store, context.owner, context.session
    if query:
        search = Search(text=query, session=session, limit=limit)
        return show_hits((await store.search(owner, search)).hits, here) or NOTHING_FOUND
    if around:
        return show_entries(await _around(store, owner, session or here, around, limit), around)
    if session:
        history = await store.read(owner, session, Read(limit=limit, backwards=True))
        return show_entries(history.entries) or f"Session {session!r} is empty."
    page = await store.list_sessions(owner, SessionQuery(limit=limit))
    return show_sessions(page.sessions, here) or NOTHING_FOUND


async def _around(store: AsyncStore, owner: str, session: str, id: str, limit: int) -> list[Entry]:
    """Read the messages above and below, on the path to the tip if the message is on it."""
    [message] = await store.find_messages(owner, session, [id])
    if message is None:
        raise NotFoundError(f"session {session!r} has no message {id!r}", kind="message", id=id)
    above = max(0, message.depth - 1 - limit // 2)
    below = message.depth + 1 + (limit - 1) // 2
    for leaf in (None, id):
        read = Read(leaf=leaf, overlays=False, after=above, before=below)
        entries = (await store.read(owner, session, read)).entries
        if any(isinstance(it, Message) and it.id == id for it in entries):
            return entries
    return [message]
