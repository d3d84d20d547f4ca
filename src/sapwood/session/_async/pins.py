"""Pins: messages that stay in sight under an overlay, kept in the session's document `pins`."""

from __future__ import annotations

from ...model import Message, Read, ToolCallPart, ToolResultPart
from ...rules.pairs import pair_of
from .stored_session import AsyncStoredSession

KEY = "pins"
FIRST_RADIUS = 16


class AsyncPins:
    """The pins of one session."""

    __slots__ = ("_stored",)

    def __init__(self, stored: AsyncStoredSession) -> None:
        self._stored = stored

    async def ids(self) -> list[str]:
        """Return the pinned ids, in the order in which they were pinned."""
        return await self._stored.load_document(KEY, list[str])

    async def add(self, id: str) -> list[str]:
        """Pin a message with its tool pair; return all pinned ids."""
        wanted = await self._pair(await self._stored.get_message(id))
        return await self._stored.change_document(
            KEY, list[str], lambda ids: ids + [new for new in wanted if new not in ids]
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
                KEY, list[str], lambda ids: list(dict.fromkeys([*ids, *wanted]))
            )

    async def remove(self, id: str) -> list[str]:
        """Unpin a message with its tool pair; return the pinned ids that are left."""
        message = await self._stored.find_message(id)
        # A message that is gone has no pair any more, but its pin may still be there.
        unwanted = [id] if message is None else await self._pair(message)
        return await self._stored.change_document(
            KEY, list[str], lambda ids: [old for old in ids if old not in unwanted]
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
