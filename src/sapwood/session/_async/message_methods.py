"""The methods of a session that are about its messages: written, changed, erased and read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ...calls import AsyncCall
from ...errors import ConflictError, UsageError
from ...model import (
    Deleted,
    DeleteEvent,
    DocumentChange,
    Entry,
    Fence,
    History,
    Hits,
    Message,
    NewMessage,
    Position,
    Read,
    Root,
    RowStatistic,
    Search,
    Summary,
    UpdateEvent,
)
from ...rules import check
from ..content import Content, MessageDraft, as_new_message, new_message, new_messages
from ..history_window import past, stored_size
from ..references import MessageRef, PlaceRef, id_of, ids_of
from .history import depth_on_path, read_window
from .session_base import AsyncSessionBase


@AsyncCall.reminding
class AsyncMessageMethods(AsyncSessionBase):
    """What a session does with its messages."""

    async def append(
        self,
        role: str | NewMessage | Mapping[str, Any],
        content: Content | None = None,
        *,
        id: str | None = None,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
        allow_orphans: bool = False,
    ) -> Message:
        """Append a message after the tip, or after `parent`; the tip moves to it.

        The message is given by its fields, or whole in place of the role, also as a vendor's SDK
        has it; `name` tells several speakers of one role apart. Idempotent by `id`: the same
        message again gives back the stored one, other content is a `MessageConflictError`.
        `StaleTipError` when the tip is not the expected one. A result without a call that it
        answers is refused, unless `allow_orphans` is set, as importers do.
        """
        message = as_new_message(
            role, content, self._setup.counter, id=id, name=name, metadata=metadata
        )
        new = await self._cleaned([message])
        done = await self._append(new, parent, expected_tip, allow_orphans=allow_orphans)
        return done.messages[0]

    async def append_all(
        self,
        messages: Sequence[MessageDraft],
        *,
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
        allow_orphans: bool = False,
    ) -> list[Message]:
        """Append several messages, one after the other, all or none.

        Each is a `NewMessage`, a pair `(role, content)`, or a message as a vendor's SDK has it. A
        repeated call is told apart from a new one by the ids, so give them when you retry.
        """
        new = await self._cleaned(new_messages(messages, self._setup.counter))
        done = await self._append(new, parent, expected_tip, allow_orphans=allow_orphans)
        return done.messages

    async def update(
        self,
        message: MessageRef,
        content: Content | None = None,
        *,
        role: str | None = None,
        name: str | UnsetType | None = UNSET,
        metadata: dict[str, Any] | None = None,
    ) -> Message:
        """Change a message; what is not given stays as it is, and a name of None is none.

        It is read first, unless all of these are given. `ConflictError` for a message that a fork
        inherited: it is changed through the session that wrote it.
        """
        return await self._replace(await self._changed(message, content, role, name, metadata))

    async def _changed(
        self,
        message: MessageRef,
        content: Content | None,
        role: str | None,
        name: str | UnsetType | None,
        metadata: dict[str, Any] | None,
    ) -> NewMessage:
        """Make what a message is to be; what is not given is read."""
        if content is None or role is None or name is UNSET or metadata is None:
            # A record that was handed in may be older than what is stored, or lack parts.
            old = await self._stored.get_message(id_of(message))
            content = old.parts if content is None else content
            role = old.role if role is None else role
            name = old.name if name is UNSET else name
            metadata = old.metadata if metadata is None else metadata
        id = id_of(message)
        new = new_message(role, content, self._setup.counter, id=id, name=name, metadata=metadata)
        [new] = await self._cleaned([new])
        return new

    async def _replace(
        self,
        new: NewMessage,
        fence: Fence | None = None,
        documents: Sequence[DocumentChange] = (),
    ) -> Message:
        """Write a message anew, which says which one it is."""
        stored = self._stored
        new = msgspec.structs.replace(new, created_us=None, digest=None)
        updated = await stored.store.update_message(
            stored.owner, stored.id, new, fence=fence, documents=documents
        )
        event = UpdateEvent(owner=stored.owner, session=stored.id, message=updated.message)
        await self._context().watch.after_change(event)
        return updated.message

    async def upsert(
        self,
        role: str | NewMessage | Mapping[str, Any],
        content: Content | None = None,
        *,
        id: str | None = None,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: PlaceRef | None = None,
        allow_orphans: bool = False,
    ) -> Message:
        """Change the message with this id, or append it when there is none."""
        message = as_new_message(
            role, content, self._setup.counter, id=id, name=name, metadata=metadata
        )
        if message.id is None:
            raise UsageError("upsert needs the message's id: without one, append it", path="id")
        [message] = await self._cleaned([message])
        try:
            done = await self._append([message], parent, None, allow_orphans=allow_orphans)
            [stored] = done.messages
            if not done.known or message.extra in (UNSET, stored.extra):
                return stored
        except ConflictError:
            # It is there, with other content; erased ones stay erased.
            if message.id is None or await self._stored.find_message(message.id) is None:
                raise
        return await self._replace(message)

    async def delete(self, messages: MessageRef | Sequence[MessageRef]) -> Deleted:
        """Erase messages; their places stay, empty, and their ids stay taken."""
        stored = self._stored
        deleted = await stored.store.delete_messages(stored.owner, stored.id, ids_of(messages))
        event = DeleteEvent(owner=stored.owner, session=stored.id, ids=deleted.ids)
        await self._context().watch.after_change(event)
        return deleted

    async def get(self, id: str) -> Message:
        """Return a message, or raise `NotFoundError`."""
        return await self._stored.get_message(id)

    async def find(self, id: str) -> Message | None:
        """Return a message, or None when it was deleted or was never there."""
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
        check.whole(limit, "limit", 1)
        check.count(min_messages, "min_messages", 0)
        check.count(offset, "offset", 0)
        check.instance(whole_pairs, bool, "whole_pairs")
        if offset and whole_pairs:
            raise UsageError(
                "offset counts entries, whatever that parts: give whole_pairs=False with it, "
                "or page by before or after",
                path="offset",
            )
        cuts = limit is not None or max_bytes is not None or offset > 0
        query = Read(
            leaf=id_of(leaf),
            overlays=overlays,
            limit=limit,
            max_bytes=max_bytes,
            after=0 if after is None else await depth_on_path(self._stored, after, leaf, "after"),
            before=None
            if before is None
            else await depth_on_path(self._stored, before, leaf, "before"),
            backwards=after is None and cuts,
        )
        if offset:
            skip = msgspec.structs.replace(query, limit=offset, max_bytes=None)
            skipped = await self._stored.read(skip)
            if not skipped.more:
                return msgspec.structs.replace(skipped, entries=[], bytes=0)
            query = past(skipped, query)
        least = min_messages if limit is None else min(min_messages, limit)
        return await read_window(self._stored, query, max(1, least), whole_pairs=whole_pairs)

    async def iter_history(
        self, leaf: PlaceRef | None = None, *, overlays: bool = True, page: int = 200
    ) -> AsyncIterator[Entry]:
        """Stream the path from its beginning, a page at a time.

        The leaf is fixed by the first page; each page is a snapshot of its own.
        """
        check.count(page, "page", 1)
        place, depth, more = id_of(leaf), 0, True
        while more:
            query = Read(leaf=place, overlays=overlays, limit=page, after=depth)
            history = await self._stored.read(query)
            for entry in history.entries:
                depth = entry.depth
                yield entry
            place, more = history.leaf, history.more

    async def iter_messages(
        self, *, after: Position | None = None, page: int = 200
    ) -> AsyncIterator[Message]:
        """Stream all messages that the session sees, on all branches, a page at a time.

        By position, each after the one that it follows; with `after`, those after a position.
        Overlays are not shown.
        """
        check.count(page, "page", 1)
        stored, more = self._stored, True
        while more:
            found = await stored.store.list_messages(
                stored.owner, stored.id, after=after, limit=page
            )
            for message in found.messages:
                after = message.position
                yield message
            more = found.more

    async def get_parent(self, message: MessageRef) -> str | Root:
        """Return the id of the message that one follows, deleted or not; `ROOT` for a first one."""
        return await self._stored.get_parent(id_of(message))

    async def row_statistics(self, leaf: PlaceRef | None = None) -> list[RowStatistic]:
        """List the size of each message on a path, without overlays.

        The messages are read a page at a time, so that only their sizes are held.
        """
        return [
            RowStatistic(
                id=entry.id,
                role=entry.role,
                bytes=stored_size(entry),
                tokens=entry.tokens,
            )
            async for entry in self.iter_history(leaf, overlays=False)
            if not isinstance(entry, Summary)
        ]

    async def search(self, query: str, *, limit: int = 20, cursor: str | None = None) -> Hits:
        """Find messages and summaries that the session sees, the best first, a page at a time."""
        search = Search(text=query, session=self._stored.id, limit=limit, cursor=cursor)
        return await self._stored.store.search(self._stored.owner, search)
