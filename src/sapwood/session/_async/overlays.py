"""A session's overlays: summaries that are shown in place of what they cover."""

from __future__ import annotations

from typing import Any

from ...errors import NotFoundError
from ...model import (
    CompactionNote,
    Entry,
    EntryRef,
    Fence,
    History,
    NewOverlay,
    Overlay,
    Root,
    TextPart,
)
from ...rules import check
from ...rules.tokens import count_tokens
from ..compactor_state import KEY, MARK, CompactorState, note_of, with_undone
from ..references import OverlayRef, overlay_id_of
from .context_size import AsyncContextSize
from .pins import AsyncPins
from .stored_session import AsyncStoredSession


class AsyncOverlays:
    """Puts overlays over a session's messages, and takes them away; a compaction makes one."""

    __slots__ = ("_pins", "_size", "_stored")

    def __init__(self, stored: AsyncStoredSession, pins: AsyncPins, size: AsyncContextSize) -> None:
        self._stored = stored
        self._pins = pins
        self._size = size

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
            tokens=count_tokens(self._stored.setup.counter, "summary", [TextPart(text=summary)]),
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
                await stored.change_document(
                    KEY, CompactorState, lambda state: with_undone(state, undone)
                )
        return undone

    async def compactions(self) -> list[CompactionNote]:
        """List the compactions of the past, the oldest first, those taken back too."""
        in_force = [note_of(overlay) for overlay in await self._made_by_compactions()]
        undone = (await self._stored.load_document(KEY, CompactorState)).undone
        return sorted([*in_force, *undone], key=lambda note: note.created_us)

    async def undo_compaction(self) -> Overlay:
        """Take the last compaction back that is in force."""
        made = await self._made_by_compactions()
        if not made:
            raise NotFoundError(
                f"session {self._stored.id!r} has no compaction to undo", kind="compaction", id=""
            )
        return await self.undo(made[-1])

    async def _made_by_compactions(self) -> list[Overlay]:
        return [overlay for overlay in await self.in_force() if MARK in overlay.metadata]
