"""A session: one conversation, as an agent holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Unpack

from ...errors import NotFoundError
from ...model import (
    ROOT,
    Deleted,
    Entry,
    EntryRef,
    Fence,
    ForkPoint,
    History,
    Hits,
    Leaf,
    Message,
    NewOverlay,
    NewSession,
    Overlay,
    Read,
    Root,
    Search,
    SessionPatch,
    SessionRecord,
    TextPart,
)
from ...rules.tokens import TokenCounter, count_tokens
from ...store._async.contract import AsyncStore
from ..content import Content, Draft, new_message, new_messages
from ..fields import RecordFields
from ..naming import MessageRef, OverlayRef, Place, id_of, ids_of, overlay_id_of
from ..window import without_parted
from .pins import AsyncPins


class AsyncSession:
    """One conversation. It remembers nothing: every call asks the store.

    A message is named by its id or by the record itself. Every call raises `NotFoundError` when
    the session was deleted, or sees no such message.
    """

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        id: str,
        *,
        new_id: Callable[[], str],
        token_counter: TokenCounter | None = None,
    ) -> None:
        self._store = store
        self._owner = owner
        self._id = id
        self._new_id = new_id
        self._counter = token_counter
        self._pins = AsyncPins(store, owner, id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id!r} of {self._owner!r}>"

    @property
    def id(self) -> str:
        """The session's id."""
        return self._id

    @property
    def owner(self) -> str:
        """Whom it belongs to."""
        return self._owner

    # writing

    async def append(
        self,
        role: str,
        content: Content,
        *,
        id: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: Place | None = None,
        expected_tip: Place | None = None,
    ) -> Message:
        """Append a message after the tip, or after `parent`; the tip moves to it.

        Idempotent by `id`: the same message again gives back the stored one, other content is a
        `MessageConflictError`. `StaleTipError` when the tip is not the expected one.
        """
        message = new_message(role, content, self._counter, id=id, metadata=metadata)
        appended = await self._store.append(
            self._owner,
            self._id,
            [message],
            parent=id_of(parent),
            expected_tip=id_of(expected_tip),
        )
        return appended.messages[0]

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
        appended = await self._store.append(
            self._owner,
            self._id,
            new_messages(messages, self._counter),
            parent=id_of(parent),
            expected_tip=id_of(expected_tip),
        )
        return appended.messages

    async def update(
        self,
        message: MessageRef,
        content: Content | None = None,
        *,
        role: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Message:
        """Change a message; what is not given stays as it is.

        It is read first, unless the message itself and its new content are given. `ConflictError`
        for a message that a fork inherited: it is changed through the session that wrote it.
        """
        # A message from a cut history may lack parts, so its content is never taken from there.
        if isinstance(message, Message) and content is not None:
            old = message
        else:
            old = await self.get(id_of(message))
        new = new_message(
            old.role if role is None else role,
            old.parts if content is None else content,
            self._counter,
            id=old.id,
            metadata=old.metadata if metadata is None else metadata,
        )
        return await self._store.update_message(self._owner, self._id, new)

    async def delete(self, messages: MessageRef | Sequence[MessageRef]) -> Deleted:
        """Erase messages; their places stay, empty, and their ids stay taken."""
        return await self._store.delete_messages(self._owner, self._id, ids_of(messages))

    async def clear(self) -> SessionRecord:
        """Delete all messages, overlays and pins; title, tags, data and budget stay."""
        return await self._store.clear_session(self._owner, self._id)

    # reading

    async def get(self, id: str) -> Message:
        """Give a message, or raise `NotFoundError`."""
        message = await self.find(id)
        if message is None:
            raise NotFoundError(
                f"session {self._id!r} sees no message {id!r}", kind="message", id=id
            )
        return message

    async def find(self, id: str) -> Message | None:
        """Give a message, or None when it was deleted or was never there."""
        [message] = await self._store.find_messages(self._owner, self._id, [id])
        return message

    async def history(
        self,
        leaf: Place | None = None,
        *,
        limit: int | None = None,
        overlays: bool = True,
        max_bytes: int | None = None,
    ) -> History:
        """Read the path to the tip, or to `leaf`, with its overlays applied.

        `limit` and `max_bytes` keep the end of it. Tool results whose call was cut off are left
        out, so there may be fewer entries than the limit.
        """
        query = Read(
            leaf=id_of(leaf),
            overlays=overlays,
            limit=limit,
            max_bytes=max_bytes,
            backwards=limit is not None or max_bytes is not None,
        )
        return without_parted(await self._store.read(self._owner, self._id, query))

    async def iter_history(
        self, leaf: Place | None = None, *, overlays: bool = True, page: int = 200
    ) -> AsyncIterator[Entry]:
        """Stream the path from its beginning, a page at a time.

        The leaf is fixed by the first page; each page is a snapshot of its own.
        """
        place, depth, more = id_of(leaf), 0, True
        while more:
            query = Read(leaf=place, overlays=overlays, limit=page, after=depth)
            history = await self._store.read(self._owner, self._id, query)
            for entry in history.entries:
                depth = entry.depth
                yield entry
            place, more = history.leaf, history.more

    async def record(self) -> SessionRecord:
        """Give the session's record: tip, title, tags, data, counts."""
        record = await self._store.find_session(self._owner, self._id)
        if record is None:
            raise NotFoundError(f"there is no session {self._id!r}", kind="session", id=self._id)
        return record

    async def update_record(
        self, *, expected_version: int | None = None, **fields: Unpack[RecordFields]
    ) -> SessionRecord:
        """Change title, state, tags, data or budget; what is not given stays.

        `StaleVersionError` when the record's version is not the expected one.
        """
        return await self._store.update_session(
            self._owner, self._id, SessionPatch(**fields), expected_version=expected_version
        )

    # the tree

    async def tip(self) -> str | Root:
        """Give the id of the message that the next append follows, or `ROOT`."""
        return (await self.record()).tip

    async def checkout(self, place: Place) -> SessionRecord:
        """Move the tip to a message, or to `ROOT`; nothing is deleted."""
        return await self._store.checkout(self._owner, self._id, id_of(place))

    async def children(self, place: Place = ROOT) -> list[Message]:
        """List the messages right after a message; more than one means that it branches there."""
        return await self._store.list_children(self._owner, self._id, id_of(place))

    async def branches(self) -> list[Leaf]:
        """List the ends of all branches."""
        return await self._store.list_leaves(self._owner, self._id)

    async def fork(
        self,
        id: str | None = None,
        message: Place | None = None,
        *,
        detach: bool = False,
        title: str | None = None,
    ) -> AsyncSession:
        """Make a session that goes on from a message of this one, or from its tip.

        No message is copied, unless it is detached. `AlreadyExistsError` when the id is taken.
        """
        point = ForkPoint(session=self._id, message=id_of(message), detach=detach)
        new = NewSession(id=self._new_id() if id is None else id, title=title, fork=point)
        record = await self._store.create_session(self._owner, new)
        return AsyncSession(
            self._store,
            self._owner,
            record.id,
            new_id=self._new_id,
            token_counter=self._counter,
        )

    # overlays and pins

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
        return await self._store.add_overlay(self._owner, self._id, new, fence=fence)

    async def search(self, query: str, *, limit: int = 20) -> Hits:
        """Find messages and summaries that the session sees, the best first."""
        search = Search(text=query, session=self._id, limit=limit)
        return await self._store.search(self._owner, search)

    async def overlays(self) -> list[Overlay]:
        """List the overlays in force, oldest first."""
        return await self._store.list_overlays(self._owner, self._id)

    async def undo_overlay(self, overlay: OverlayRef) -> Overlay:
        """Take an overlay away; what it covered is shown again."""
        return await self._store.undo_overlay(self._owner, self._id, overlay_id_of(overlay))

    async def pins(self) -> list[str]:
        """List the ids of the pinned messages."""
        return await self._pins.ids()

    async def pin(self, message: MessageRef) -> list[str]:
        """Keep a message and its tool pair in sight under overlays; give all pinned ids.

        The pair is looked for on the path to the tip.
        """
        return await self._pins.add(id_of(message))

    async def unpin(self, message: MessageRef) -> list[str]:
        """Let a message and its tool pair go; give the pinned ids that are left."""
        return await self._pins.remove(id_of(message))
