"""The methods of a session that shorten its history: overlays, pins and compaction."""

from __future__ import annotations

from typing import Any

from ...calls import AsyncCall
from ...model import (
    Compaction,
    CompactionNote,
    CompactionPreview,
    Entry,
    Fence,
    History,
    Overlay,
)
from ..references import MessageRef, OverlayRef, PlaceRef, id_of
from .session_base import AsyncSessionBase


@AsyncCall.reminding
class AsyncCompactionMethods(AsyncSessionBase):
    """What a session does with its overlays."""

    async def add_overlay(
        self,
        first: Entry | str,
        last: Entry | str,
        summary: str,
        *,
        history: History | None = None,
        metadata: dict[str, Any] | None = None,
        id: str | None = None,
        fence: Fence | None = None,
    ) -> Overlay:
        """Show a summary in place of the entries from `first` to `last`; they stay stored.

        Give the `history` that the summary was made from: the overlay is then refused with
        `ConflictError` when a message of the range was changed since.
        """
        return await self._context().overlays.add(
            first, last, summary, history=history, metadata=metadata, id=id, fence=fence
        )

    async def overlays(self) -> list[Overlay]:
        """List the overlays in force, oldest first."""
        return await self._context().overlays.in_force()

    async def undo_overlay(self, overlay: OverlayRef) -> Overlay:
        """Take an overlay away; what it covered is shown again."""
        return await self._context().overlays.undo(overlay)

    async def pins(self) -> list[str]:
        """List the ids of the pinned messages."""
        return await self._context().pins.ids()

    async def pin(self, message: MessageRef) -> list[str]:
        """Keep a message and its tool pair in sight under overlays; return all pinned ids.

        The pair is looked for on the path to the tip.
        """
        return await self._context().pins.add(id_of(message))

    async def unpin(self, message: MessageRef) -> list[str]:
        """Let a message and its tool pair go; return the pinned ids that are left."""
        return await self._context().pins.remove(id_of(message))

    async def compact(
        self, *, leaf: PlaceRef | None = None, focus: str | None = None
    ) -> Compaction:
        """Cover the middle of the history at the tip, or at `leaf`, by a summary.

        Nothing is deleted, and `undo_compaction` takes it back. Refused, with a reason, when there
        is nothing to cover, it would not shrink the context, or another compaction is at work.
        `CompactionError` when the summary could not be made. Either way everything is as it was.
        The frozen prompt is rendered anew.
        """
        return await self._context().compactor.compact("asked", leaf=leaf, focus=focus)

    async def preview_compaction(
        self, *, leaf: PlaceRef | None = None, focus: str | None = None
    ) -> CompactionPreview | None:
        """Return what `compact` would cover; None when there is nothing to cover.

        Also None when a function of your own decides it.
        """
        return await self._context().compactor.preview(leaf, focus)

    async def compactions(self) -> list[CompactionNote]:
        """List the compactions of the past, the oldest first, those taken back too."""
        return await self._context().overlays.compactions()

    async def undo_compaction(self) -> Overlay:
        """Take the last compaction back that is in force; `NotFoundError` when there is none."""
        return await self._context().overlays.undo_compaction()

    async def context_tokens(self) -> int:
        """Return how many tokens the next call is going to take: prompt, tools and history.

        What was reported by `add_usage` counts for what came before it, the rest is estimated.
        After an append this costs one read of the session's record.
        """
        return await self._context().size.tokens()

    async def needs_compaction(self) -> bool:
        """Whether the context holds more than `compact_after`, or 0.8 of the budget."""
        return await self._context().watch.is_full()
