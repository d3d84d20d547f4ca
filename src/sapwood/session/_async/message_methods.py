"""The methods of a session that are about its messages: written, changed, erased and read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from ...model import (
    Deleted,
    Entry,
    History,
    Hits,
    Message,
    NewMessage,
    RowStatistic,
    Search,
)
from ..builder import Setup
from ..content import Content, MessageDraft, as_new_message, new_messages
from ..references import MessageRef, PlaceRef
from .history import AsyncHistoryReader
from .messages import AsyncMessageWriter
from .stored_session import AsyncStoredSession


class AsyncMessageMethods:
    """What a session does with its messages."""

    _stored: AsyncStoredSession
    _setup: Setup
    _messages: AsyncMessageWriter
    _history: AsyncHistoryReader

    async def append(
        self,
        role: str | NewMessage,
        content: Content | None = None,
        *,
        id: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
    ) -> Message:
        """Append a message after the tip, or after `parent`; the tip moves to it.

        The message is given by its fields, or whole in place of the role. Idempotent by `id`: the
        same message again gives back the stored one, other content is a `MessageConflictError`.
        `StaleTipError` when the tip is not the expected one.
        """
        message = as_new_message(role, content, self._setup.counter, id=id, metadata=metadata)
        return (await self._messages.append([message], parent, expected_tip)).messages[0]

    async def append_all(
        self,
        messages: Sequence[MessageDraft],
        *,
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
    ) -> list[Message]:
        """Append several messages, one after the other, all or none.

        Each is a `NewMessage` or a pair `(role, content)`. A repeated call is told apart from a
        new one by the ids, so give them when you retry.
        """
        new = new_messages(messages, self._setup.counter)
        return (await self._messages.append(new, parent, expected_tip)).messages

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
        return await self._messages.update(message, content, role, metadata)

    async def upsert(
        self,
        role: str | NewMessage,
        content: Content | None = None,
        *,
        id: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: PlaceRef | None = None,
    ) -> Message:
        """Change the message with this id, or append it when there is none."""
        message = as_new_message(role, content, self._setup.counter, id=id, metadata=metadata)
        return await self._messages.upsert(message, parent)

    async def delete(self, messages: MessageRef | Sequence[MessageRef]) -> Deleted:
        """Erase messages; their places stay, empty, and their ids stay taken."""
        return await self._messages.delete(messages)

    async def get(self, id: str) -> Message:
        """Give a message, or raise `NotFoundError`."""
        return await self._stored.get_message(id)

    async def find(self, id: str) -> Message | None:
        """Give a message, or None when it was deleted or was never there."""
        return await self._stored.find_message(id)

    async def history(
        self,
        leaf: PlaceRef | None = None,
        *,
        limit: int | None = None,
        overlays: bool = True,
        max_bytes: int | None = None,
        min_messages: int = 1,
        before: PlaceRef | None = None,
        after: PlaceRef | None = None,
        offset: int = 0,
        whole_pairs: bool = True,
    ) -> History:
        """Read the path to the tip, or to `leaf`, with its overlays applied.

        `limit` and `max_bytes` keep the end of it, or what comes right after `after`; at least
        `min_messages` entries are given whatever their size. `more` says that something was
        cut off.

        A tool call and its results that the cut would part are left out, so there may be fewer
        entries than the limit. Where fewer than `min_messages` would be left, there are more than
        the limit instead: whole pairs, and never an empty page while there is more. With
        `whole_pairs=False` it is the exact number, whatever that parts, and `offset` leaves out so
        many entries before that, at the same end.
        `UsageError` when `before` or `after` is a message of another branch.
        """
        return await self._history.read(
            leaf,
            limit=limit,
            overlays=overlays,
            max_bytes=max_bytes,
            min_messages=min_messages,
            before=before,
            after=after,
            offset=offset,
            whole_pairs=whole_pairs,
        )

    def iter_history(
        self, leaf: PlaceRef | None = None, *, overlays: bool = True, page: int = 200
    ) -> AsyncIterator[Entry]:
        """Stream the path from its beginning, a page at a time.

        The leaf is fixed by the first page; each page is a snapshot of its own.
        """
        return self._history.iterate(leaf, overlays=overlays, page=page)

    async def row_statistics(self, leaf: PlaceRef | None = None) -> list[RowStatistic]:
        """List the size of each message on a path, without overlays.

        The messages are read a page at a time, so that only their sizes are held.
        """
        return await self._history.row_statistics(leaf)

    async def search(self, query: str, *, limit: int = 20) -> Hits:
        """Find messages and summaries that the session sees, the best first."""
        search = Search(text=query, session=self._stored.id, limit=limit)
        return await self._stored.store.search(self._stored.owner, search)
