"""What a hook is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import msgspec

from ...model import Edge, History, Occasion, Overlay, Read, SessionKey, SessionRecord
from ..route import key_of

if TYPE_CHECKING:
    from ...store._async.contract import AsyncStore


class AsyncHookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a session. Its history can be read, and nothing can be written.

    `reason` says why a session ended, or was left at a switch, for which `previous` is the one that
    was left. `generation` counts the switches of its key's route, `life` how often the session was
    opened again.
    """

    occasion: Occasion
    owner: str
    session: str
    reason: str | None
    parent: Edge | None
    generation: int | None
    life: int
    title: str | None
    tags: list[str]
    key: SessionKey | None
    messages: int
    created_us: int
    active_us: int
    previous: str | None = None
    overlay: Overlay | None = None
    store: AsyncStore

    @classmethod
    def of(
        cls,
        store: AsyncStore,
        owner: str,
        record: SessionRecord,
        occasion: Occasion,
        *,
        generation: int | None = None,
        life: int | None = None,
        reason: str | None = None,
        previous: str | None = None,
        overlay: Overlay | None = None,
    ) -> Self:
        """Make the event of a session's record."""
        return cls(
            occasion=occasion,
            owner=owner,
            session=record.id,
            reason=reason,
            parent=record.parent,
            generation=generation,
            life=record.system.life if life is None else life,
            title=record.title,
            tags=record.tags,
            key=key_of(record),
            messages=record.messages,
            created_us=record.created_us,
            active_us=record.active_us,
            previous=previous,
            overlay=overlay,
            store=store,
        )

    async def history(self, *, limit: int | None = None) -> History:
        """Read what the model is shown, or the last so many entries of it."""
        query = Read(limit=limit, backwards=limit is not None)
        return await self.store.read(self.owner, self.session, query)

    async def first(self, limit: int) -> History:
        """Read the first messages, also those under a summary."""
        query = Read(limit=limit, overlays=False)
        return await self.store.read(self.owner, self.session, query)
