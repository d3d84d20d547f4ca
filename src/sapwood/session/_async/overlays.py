"""A session's overlays: summaries that are shown in place of what they cover."""

from __future__ import annotations

from typing import Any

from ...model import Entry, EntryRef, Fence, History, NewOverlay, Overlay, Root, TextPart
from ...rules import check
from ...rules.tokens import count_tokens
from ..builder import Setup
from ..compactor_state import MARK, with_undone
from ..references import OverlayRef, overlay_id_of
from .compactor_document import AsyncCompactorDocument
from .context_size import AsyncContextSize
from .pins import AsyncPins
from .stored_session import AsyncStoredSession


class AsyncOverlayWriter:
    """Puts overlays over a session's messages, and takes them away."""

    __slots__ = ("_compactor", "_pins", "_setup", "_size", "_stored")

    def __init__(
        self,
        stored: AsyncStoredSession,
        setup: Setup,
        pins: AsyncPins,
        size: AsyncContextSize,
        compactor: AsyncCompactorDocument,
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._pins = pins
        self._size = size
        self._compactor = compactor

    async def add(
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
        """Show a summary in place of the entries from `first` to `last`."""
        if history is not None:
            check.instance(history, History, "history")
        leaf = None if history is None or isinstance(history.leaf, Root) else history.leaf
        new = NewOverlay(
            first=EntryRef.of(first),
            last=EntryRef.of(last),
            summary=summary,
            tokens=count_tokens(self._setup.counter, "summary", [TextPart(text=summary)]),
            metadata={} if metadata is None else metadata,
            leaf=leaf,
            snapshot=None if history is None else history.snapshot,
            id=id,
        )
        # Before they are covered: a pinned call is shown with its result.
        await self._pins.complete()
        stored = self._stored
        overlay = await stored.store.add_overlay(stored.owner, stored.id, new, fence=fence)
        await self._size.return_to_estimate()
        return overlay

    async def in_force(self) -> list[Overlay]:
        """List the overlays in force, oldest first."""
        return await self._stored.store.list_overlays(self._stored.owner, self._stored.id)

    async def undo(self, overlay: OverlayRef) -> Overlay:
        """Take an overlay away; one that a compaction made is listed among those taken back."""
        stored = self._stored
        undone = await stored.store.undo_overlay(stored.owner, stored.id, overlay_id_of(overlay))
        await self._size.return_to_estimate()
        if MARK in undone.metadata:
            with stored.after_a_write("the compaction that was undone is not listed any more"):
                await self._compactor.change(lambda state: with_undone(state, undone))
        return undone
