"""What a hook is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...model import Edge, History, Occasion, Overlay, Read, SessionKey

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
    title: str | None = None
    key: SessionKey | None = None
    previous: str | None = None
    overlay: Overlay | None = None
    store: AsyncStore

    async def history(self, *, limit: int | None = None, overlays: bool = True) -> History:
        """Read what the model is shown, or the last so many entries of it."""
        query = Read(limit=limit, backwards=limit is not None, overlays=overlays)
        return await self.store.read(self.owner, self.session, query)
