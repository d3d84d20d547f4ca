"""A session's messages: written, changed and erased."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ConflictError, UsageError
from ...model import (
    Appended,
    AppendEvent,
    ClearEvent,
    Deleted,
    DeleteEvent,
    Message,
    NewMessage,
    Position,
    SessionRecord,
    UpdateEvent,
)
from ..content import Content, Draft, as_new_message, new_message, new_messages
from ..naming import MessageRef, Place, id_of, ids_of
from .gauge import UNMEASURED, AsyncGauge


class AsyncMessages(AsyncGauge):
    """The part of a session that writes messages."""

    async def append(
        self,
        role: str | NewMessage,
        content: Content | None = None,
        *,
        id: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: Place | None = None,
        expected_tip: Place | None = None,
    ) -> Message:
        """Append a message after the tip, or after `parent`; the tip moves to it.

        The message is given by its fields, or whole in place of the role. Idempotent by `id`: the
        same message again gives back the stored one, other content is a `MessageConflictError`.
        `StaleTipError` when the tip is not the expected one.
        """
        message = as_new_message(role, content, self._counter, id=id, metadata=metadata)
        return (await self._append([message], parent, expected_tip)).messages[0]

    async def append_all(
        self,
        messages: Sequence[Draft],
        *,
        parent: Place | None = None,
        expected_tip: Place | None = None,
    ) -> list[Message]:
        """Append several messages, one after the other, all or none.

        Each is a `NewMessage` or a pair `(role, content)`. A repeated call is told apart from a
        new one by the ids, so give them when you retry.
        """
        new = new_messages(messages, self._counter)
        return (await self._append(new, parent, expected_tip)).messages

    async def _append(
        self, new: list[NewMessage], parent: Place | None, expected_tip: Place | None
    ) -> Appended:
        appended = await self._first_creating(
            lambda: self._store.append(
                self._owner,
                self._id,
                new,
                parent=id_of(parent),
                expected_tip=id_of(expected_tip),
            )
        )
        if self._settings.listeners or self._settings.compacts_by_itself:
            with self._after_a_write(UNMEASURED):
                await self._after_append(appended)
        return appended

    async def _after_append(self, appended: Appended) -> None:
        event = AppendEvent(
            owner=self._owner,
            session=self._id,
            messages=appended.messages,
            written=appended.written,
        )
        await self._tell(event)
        if not appended.written:
            return
        shown, stamp = appended.context_tokens, appended.stamp
        if shown is None or stamp is None or self._settings.compact_after is None:
            # The budget stands in the record, and so does what the store did not know at once.
            await self._after_change()
            return
        last = appended.messages[-1]
        tokens = await self._fullness(shown, Position(last.segment, last.depth), stamp)
        await self._notice(tokens, None)

    async def update(
        self,
        message: MessageRef,
        content: Content | None = None,
        *,
        role: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Message:
        """Change a message; what is not given stays as it is.

        It is read first, unless content, role and metadata are all given. `ConflictError` for a
        message that a fork inherited: it is changed through the session that wrote it.
        """
        if content is None or role is None or metadata is None:
            # A record that was handed in may be older than what is stored, or lack parts.
            old = await self.get(id_of(message))
            content = old.parts if content is None else content
            role = old.role if role is None else role
            metadata = old.metadata if metadata is None else metadata
        new = new_message(role, content, self._counter, id=id_of(message), metadata=metadata)
        updated = await self._store.update_message(self._owner, self._id, new)
        await self._changed(UpdateEvent(owner=self._owner, session=self._id, message=updated))
        return updated

    async def upsert(
        self,
        role: str | NewMessage,
        content: Content | None = None,
        *,
        id: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: Place | None = None,
    ) -> Message:
        """Change the message with this id, or append it when there is none."""
        message = as_new_message(role, content, self._counter, id=id, metadata=metadata)
        if message.id is None:
            raise UsageError("upsert needs the message's id: without one, append it", path="id")
        try:
            return (await self._append([message], parent, None)).messages[0]
        except ConflictError:
            # It is there, with other content; erased ones stay erased.
            if await self.find(message.id) is None:
                raise
        return await self.update(
            message.id, message.parts, role=message.role, metadata=message.metadata
        )

    async def delete(self, messages: MessageRef | Sequence[MessageRef]) -> Deleted:
        """Erase messages; their places stay, empty, and their ids stay taken."""
        deleted = await self._store.delete_messages(self._owner, self._id, ids_of(messages))
        await self._changed(DeleteEvent(owner=self._owner, session=self._id, ids=deleted.ids))
        return deleted

    async def _forget_the_past(self) -> None:
        """Delete what is remembered about messages that are gone."""
        await self._forget_reported()

    async def clear(self) -> SessionRecord:
        """Delete all messages, overlays and pins; title, tags, data, budget and blocks stay.

        The frozen prompt is rendered anew; if that fails, before it is next shown.
        """
        record = await self._store.clear_session(self._owner, self._id)
        with self._after_a_write("notes about cleared messages are left: clear it again"):
            await self._forget_the_past()
        with self._after_a_write("the prompt is from before the clear: clear it again"):
            await self._begin_context_anew()
        await self._changed(ClearEvent(owner=self._owner, session=self._id))
        return record
