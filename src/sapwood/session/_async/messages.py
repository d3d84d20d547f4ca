"""A session's messages: written, changed and erased."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ConflictError, UsageError
from ...model import (
    Appended,
    Deleted,
    DeleteEvent,
    Message,
    NewMessage,
    UpdateEvent,
)
from ..builder import Setup
from ..content import Content, new_message
from ..references import MessageRef, PlaceRef, id_of, ids_of
from .lazy_model_context import AsyncLazyModelContext
from .stored_session import AsyncStoredSession


class AsyncMessageWriter:
    """Writes messages."""

    __slots__ = ("_context", "_setup", "_stored")

    def __init__(
        self, stored: AsyncStoredSession, setup: Setup, context: AsyncLazyModelContext
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._context = context

    async def append(
        self, new: list[NewMessage], parent: PlaceRef | None, expected_tip: PlaceRef | None
    ) -> Appended:
        """Append messages after the tip, or after `parent`, all or none."""
        stored, settings = self._stored, self._setup.settings
        appended = await stored.first_creating(
            lambda: stored.store.append(
                stored.owner,
                stored.id,
                new,
                parent=id_of(parent),
                expected_tip=id_of(expected_tip),
            )
        )
        if settings.listeners or settings.compacts_by_itself:
            await self._context().watch.after_append(appended)
        return appended

    async def update(
        self,
        message: MessageRef,
        content: Content | None,
        role: str | None,
        metadata: dict[str, Any] | None,
    ) -> Message:
        """Change a message; what is None stays as it is."""
        stored = self._stored
        if content is None or role is None or metadata is None:
            # A record that was handed in may be older than what is stored, or lack parts.
            old = await stored.get_message(id_of(message))
            content = old.parts if content is None else content
            role = old.role if role is None else role
            metadata = old.metadata if metadata is None else metadata
        new = new_message(role, content, self._setup.counter, id=id_of(message), metadata=metadata)
        updated = await stored.store.update_message(stored.owner, stored.id, new)
        event = UpdateEvent(owner=stored.owner, session=stored.id, message=updated)
        await self._context().watch.after_change(event)
        return updated

    async def upsert(self, message: NewMessage, parent: PlaceRef | None) -> Message:
        """Change the message with this id, or append it when there is none."""
        if message.id is None:
            raise UsageError("upsert needs the message's id: without one, append it", path="id")
        try:
            return (await self.append([message], parent, None)).messages[0]
        except ConflictError:
            # It is there, with other content; erased ones stay erased.
            if await self._stored.find_message(message.id) is None:
                raise
        return await self.update(message.id, message.parts, message.role, message.metadata)

    async def delete(self, messages: MessageRef | Sequence[MessageRef]) -> Deleted:
        """Erase messages; their places stay, empty, and their ids stay taken."""
        stored = self._stored
        deleted = await stored.store.delete_messages(stored.owner, stored.id, ids_of(messages))
        event = DeleteEvent(owner=stored.owner, session=stored.id, ids=deleted.ids)
        await self._context().watch.after_change(event)
        return deleted
