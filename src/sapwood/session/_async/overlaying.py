"""A session's overlays and pins."""

from __future__ import annotations

from typing import Any

from ...model import Entry, EntryRef, Fence, History, NewOverlay, Overlay, Root, TextPart
from ...rules import check
from ...rules.tokens import count_tokens
from ..naming import MessageRef, OverlayRef, id_of, overlay_id_of
from .pins import AsyncPins
from .undoing import AsyncUndoing


class AsyncOverlaying(AsyncUndoing):
    """The part of a session that covers messages by summaries, and keeps some in sight."""

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
        if history is not None:
            check.instance(history, History, "history")
        leaf = None if history is None or isinstance(history.leaf, Root) else history.leaf
        new = NewOverlay(
            first=EntryRef.of(first),
            last=EntryRef.of(last),
            summary=summary,
            tokens=count_tokens(self._counter, "summary", [TextPart(text=summary)]),
            metadata={} if metadata is None else metadata,
            leaf=leaf,
            snapshot=None if history is None else history.snapshot,
            id=id,
        )
        # Before they are covered: a pinned call is shown with its result.
        await self._pins().complete()
        overlay = await self._store.add_overlay(self._owner, self._id, new, fence=fence)
        await self._measure_by_estimate()
        return overlay

    async def overlays(self) -> list[Overlay]:
        """List the overlays in force, oldest first."""
        return await self._store.list_overlays(self._owner, self._id)

    async def undo_overlay(self, overlay: OverlayRef) -> Overlay:
        """Take an overlay away; what it covered is shown again."""
        undone = await self._store.undo_overlay(self._owner, self._id, overlay_id_of(overlay))
        await self._measure_by_estimate()
        return undone

    async def pins(self) -> list[str]:
        """List the ids of the pinned messages."""
        return await self._pins().ids()

    async def pin(self, message: MessageRef) -> list[str]:
        """Keep a message and its tool pair in sight under overlays; give all pinned ids.

        The pair is looked for on the path to the tip.
        """
        return await self._pins().add(id_of(message))

    async def unpin(self, message: MessageRef) -> list[str]:
        """Let a message and its tool pair go; give the pinned ids that are left."""
        return await self._pins().remove(id_of(message))

    def _pins(self) -> AsyncPins:
        return AsyncPins(self._store, self._owner, self._id)
