"""Where a session came from, and where it goes on."""

from __future__ import annotations

from ...model import EdgeKind, SessionQuery, SessionRecord
from .closings import AsyncClosings

PAGE = 100


class AsyncLineage:
    """The edges between one owner's sessions. A parent that is deleted leaves them as they are."""

    def __init__(self, closings: AsyncClosings) -> None:
        self._closings = closings

    async def ancestors(self, session: str) -> list[SessionRecord]:
        """Return a session and what it came out of, one after the other, as far as it is there."""
        found = [await self._closings.get(session)]
        while (parent := found[-1].parent) is not None:
            record = await self._closings.find(parent.session)
            if record is None or any(record.id == it.id for it in found):
                break
            found.append(record)
        return found

    async def end_of_chain(self, session: str) -> SessionRecord:
        """Return the session that goes on with a conversation: the end of its continuations."""
        record = await self._closings.get(session)
        seen = {record.id}
        while (following := await self._following(record)) is not None:
            if following.id in seen:
                break
            seen.add(following.id)
            record = following
        return record

    async def _following(self, record: SessionRecord) -> SessionRecord | None:
        """Find what goes on with a session that is closed, or ended by a compaction."""
        if record.system.next is not None:
            return await self._closings.find(record.system.next)
        if record.end_reason != "compaction":
            return None
        query = SessionQuery(kind=record.kind, parent=record.id, order="created", limit=PAGE)
        page = await self._closings.store.list_sessions(self._closings.owner, query)
        following = [it for it in page.sessions if _continues(it, record)]
        return max(following, key=lambda it: it.active_us, default=None)

    async def root(self, session: str) -> SessionRecord:
        """Return the session that a conversation began with, as far as it is there."""
        return (await self.ancestors(session))[-1]


def _continues(record: SessionRecord, source: SessionRecord) -> bool:
    edge = record.parent
    return edge is not None and edge.kind is EdgeKind.CONTINUE and edge.session == source.id
