"""A session's overlays, and the pins: messages that stay in sight under one."""

from __future__ import annotations

from typing import Any

from ...errors import NotFoundError
from ...model import (
    CompactionNote,
    Entry,
    EntryRef,
    Fence,
    History,
    Message,
    NewOverlay,
    Overlay,
    Read,
    Root,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ...rules import check
from ...rules.pairs import pair_of
from ...rules.tokens import count_tokens
from ..compactor_state import KEY, MARK, CompactorState, note_of, with_undone
from ..references import OverlayRef, overlay_id_of
from .context_size import AsyncContextSize
from .stored_session import AsyncStoredSession

PINS = "pins"
FIRST_RADIUS = 16


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


class AsyncPins:
    """The pins of one session."""

    __slots__ = ("_stored",)

    def __init__(self, stored: AsyncStoredSession) -> None:
        self._stored = stored

    async def ids(self) -> list[str]:
        """Return the pinned ids, in the order in which they were pinned."""
        return await self._stored.load_document(PINS, list[str])

    async def add(self, id: str) -> list[str]:
        """Pin a message with its tool pair; return all pinned ids."""
        wanted = await self._pair(await self._stored.get_message(id))
        return await self._stored.change_document(
            PINS, list[str], lambda ids: ids + [new for new in wanted if new not in ids]
        )

    async def whole(self) -> list[str]:
        """Return the pinned ids with all that came to belong to them since.

        The result of a call that was pinned in flight belongs to it.
        """
        ids = await self.ids()
        if not ids:
            return ids
        stored = self._stored
        found = await stored.store.find_messages(stored.owner, stored.id, ids)
        pairs = [
            await self._pair(message)
            for message in found
            if message is not None and _is_tied(message)
        ]
        return list(dict.fromkeys([*ids, *(id for pair in pairs for id in pair)]))

    async def complete(self) -> None:
        """Pin what came to belong to pinned messages since."""
        wanted = await self.whole()
        if wanted:
            await self._stored.change_document(
                PINS, list[str], lambda ids: list(dict.fromkeys([*ids, *wanted]))
            )

    async def remove(self, id: str) -> list[str]:
        """Unpin a message with its tool pair; return the pinned ids that are left."""
        message = await self._stored.find_message(id)
        # A message that is gone has no pair any more, but its pin may still be there.
        unwanted = [id] if message is None else await self._pair(message)
        return await self._stored.change_document(
            PINS, list[str], lambda ids: [old for old in ids if old not in unwanted]
        )

    async def _pair(self, message: Message) -> list[str]:
        leaf, deepest = await self._leaf_below(message)
        radius = FIRST_RADIUS
        while True:
            above, below = max(0, message.depth - 1 - radius), message.depth + 1 + radius
            window = Read(leaf=leaf, overlays=False, after=above, before=below)
            pair = pair_of((await self._stored.read(window)).messages_only, message.id)
            if pair.whole or (above == 0 and below > deepest):
                return pair.ids
            radius *= 4

    async def _leaf_below(self, message: Message) -> tuple[str, int]:
        """Return the tip and its depth when the message is on its path, else the message itself."""
        record = await self._stored.record()
        tip, position = record.tip, record.tip_position
        if not isinstance(tip, str) or position is None:
            return message.id, message.depth
        is_above = await self._stored.is_on_path(message.id, message.depth, tip)
        return (tip, position.depth) if is_above else (message.id, message.depth)


def _is_tied(message: Message) -> bool:
    return any(isinstance(part, (ToolCallPart, ToolResultPart)) for part in message.parts)
