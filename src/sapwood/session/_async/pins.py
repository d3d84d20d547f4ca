"""Pins: messages that stay in sight under an overlay, kept in the session's document `pins`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...errors import NotFoundError, StaleVersionError, StoreCorruptError
from ...model import Message, Read, ToolCallPart, ToolResultPart
from ...rules.codec import decode_json
from ...rules.pairs import pair_of
from ...store._async.contract import AsyncStore

KEY = "pins"
FIRST_RADIUS = 16


class AsyncPins:
    """The pins of one session."""

    def __init__(self, store: AsyncStore, owner: str, session: str) -> None:
        self._store = store
        self._owner = owner
        self._session = session

    async def ids(self) -> list[str]:
        """Give the pinned ids, in the order in which they were pinned."""
        return (await self._load())[0]

    async def add(self, id: str) -> list[str]:
        """Pin a message with its tool pair; give all pinned ids."""
        [message] = await self._store.find_messages(self._owner, self._session, [id])
        if message is None:
            raise NotFoundError(
                f"session {self._session!r} sees no message {id!r}", kind="message", id=id
            )
        wanted = await self._pair(message)
        return await self._change(lambda ids: ids + [new for new in wanted if new not in ids])

    async def whole(self) -> list[str]:
        """Give the pinned ids with all that came to belong to them since.

        The result of a call that was pinned in flight belongs to it.
        """
        ids = await self.ids()
        if not ids:
            return ids
        found = await self._store.find_messages(self._owner, self._session, ids)
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
            await self._change(lambda ids: list(dict.fromkeys([*ids, *wanted])))

    async def remove(self, id: str) -> list[str]:
        """Unpin a message with its tool pair; give the pinned ids that are left."""
        [message] = await self._store.find_messages(self._owner, self._session, [id])
        # A message that is gone has no pair any more, but its pin may still be there.
        unwanted = [id] if message is None else await self._pair(message)
        return await self._change(lambda ids: [old for old in ids if old not in unwanted])

    async def _change(self, edit: Callable[[list[str]], list[str]]) -> list[str]:
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            before, version = await self._load()
            after = edit(before)
            if after == before:
                return after
            try:
                await self._store.put_document(
                    self._owner,
                    KEY,
                    msgspec.json.encode(after),
                    session=self._session,
                    expected_version=version,
                )
            except StaleVersionError:
                continue
            return after

    async def _load(self) -> tuple[list[str], int]:
        document = await self._store.find_document(self._owner, KEY, session=self._session)
        if document is None:
            return [], 0
        ids = decode_json(document.value, f"the pins of session {self._session!r}")
        if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
            raise StoreCorruptError(f"the pins of session {self._session!r} are no list of ids")
        return ids, document.version

    async def _pair(self, message: Message) -> list[str]:
        leaf, deepest = await self._leaf_below(message)
        radius = FIRST_RADIUS
        while True:
            above, below = max(0, message.depth - 1 - radius), message.depth + 1 + radius
            window = Read(leaf=leaf, overlays=False, after=above, before=below)
            history = await self._store.read(self._owner, self._session, window)
            pair = pair_of(history.messages, message.id)
            if pair.whole or (above == 0 and below > deepest):
                return pair.ids
            radius *= 4

    async def _leaf_below(self, message: Message) -> tuple[str, int]:
        """Give the tip and its depth when the message is on its path, else the message itself."""
        record = await self._store.find_session(self._owner, self._session)
        if record is not None and isinstance(record.tip, str) and record.tip_position is not None:
            here = Read(
                leaf=record.tip,
                overlays=False,
                after=message.depth - 1,
                before=message.depth + 1,
            )
            shown = await self._store.read(self._owner, self._session, here)
            if [entry.id for entry in shown.messages] == [message.id]:
                return record.tip, record.tip_position.depth
        return message.id, message.depth


def _is_tied(message: Message) -> bool:
    return any(isinstance(part, (ToolCallPart, ToolResultPart)) for part in message.parts)
