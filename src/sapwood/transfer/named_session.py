"""A session of a store by its id, and what stands in it: messages, and the gaps that some left."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import NotFoundError
from ..model import DataVersion, Document, Gap, Message, Position, Read, SessionRecord
from ..rules.recent import elsewhere
from ..store import Capability, Store
from .lines import MessageLine

MessageOrGap = Message | Gap
PlaceOnPath = Message | Gap | DataVersion
"""What stands at a position; a version of the data stands for a mark."""
MessagesById = dict[str, Message]


class NamedSession(NamedTuple):
    """Where a session is, if it is there. What looks into one that is gone is `NotFoundError`."""

    store: Store
    owner: str
    id: str

    def find_record(self) -> SessionRecord | None:
        """Find its record."""
        return self.store.find_session(self.owner, self.id)

    def get_record(self, otherwise: str) -> SessionRecord:
        """Return its record; of a session that is gone, `NotFoundError` says so in these words."""
        record = self.find_record()
        if record is None:
            raise NotFoundError(otherwise, kind="session", id=self.id)
        return record

    def read(self, leaf: str, **query: Any) -> list[Message]:
        """Read messages on the path to a leaf, without overlays."""
        where = Read(leaf=leaf, overlays=False, **query)
        return self.store.read(self.owner, self.id, where).messages_only

    def find(self, ids: Sequence[str]) -> MessagesById:
        """Find messages by their ids."""
        if not ids:
            return {}
        found = self.store.find_messages(self.owner, self.id, ids)
        return {message.id: message for message in found if message is not None}

    def find_with_parents(self, lines: Sequence[MessageLine]) -> MessagesById:
        """Find the messages of some lines, and of those that are there the parents."""
        found = self.find([line.id for line in lines])
        parents = {line.parent for line in lines if line.parent and line.id in found}
        return found | self.find([id for id in parents if id not in found])

    def versions(self, position: Position | None) -> list[DataVersion]:
        """Read the versions of the data at and above a position, the newest first."""
        found: list[DataVersion] = []
        while position is not None and self.has_data:
            found += self.store.list_data(self.owner, self.id, position)
            position = found[-1].previous if found else None
        return found

    def find_data(self, id: str) -> DataVersion | None:
        """Find the data that a place has itself: a message's, a gap's or a mark's."""
        if not self.has_data:
            return None
        try:
            at = self.store.read(
                self.owner, self.id, Read(leaf=id, overlays=False, limit=1, backwards=True)
            ).data_at
            found = None if at is None else self.store.read_data(self.owner, self.id, at)
        except NotFoundError:
            return None
        return found if found is not None and found.id == id else None

    def own_data(self, message: Message) -> dict[str, Any] | None:
        """Return the data that a message has itself."""
        if message.data_at is None or message.data_at != message.position:
            return None
        found = self.store.read_data(self.owner, self.id, message.data_at)
        return None if found is None else found.value

    @property
    def has_data(self) -> bool:
        """Whether the store keeps data at positions."""
        return Capability.DATA in self.store.capabilities

    def find_at(self, leaf: str, position: Position) -> MessageOrGap | None:
        """Find what stands at a position; None if that is not on the path to the leaf."""
        depth = position.depth
        found: list[MessageOrGap] = [
            *self.read(leaf, after=depth - 1, before=depth + 1, limit=1)
        ] or [*self.store.list_gaps(self.owner, self.id, leaf, after=depth - 1)[:1]]
        return found[0] if found and found[0].position == position else None

    def find_named(self, id: str) -> PlaceOnPath | None:
        """Find what the session sees under an id."""
        [message] = self.store.find_messages(self.owner, self.id, [id])
        if message is not None:
            return message
        try:
            above = self.find_live(id)
            gaps = self.store.list_gaps(self.owner, self.id, id, after=above.depth if above else 0)
        except NotFoundError:
            return None
        return gaps[-1] if gaps and gaps[-1].id == id else self.find_data(id)

    def find_live(self, leaf: str, before: int | None = None) -> Message | None:
        """Find the nearest message at or above a leaf, or above a depth, that was not deleted."""
        messages = self.read(leaf, before=before, limit=1, backwards=True)
        return messages[0] if messages else None

    def is_deleted(self, id: str) -> bool:
        """Whether a message that is not found was deleted, and not just never there."""
        # A deleted message is not found, and still may be a leaf.
        try:
            self.find_live(id)
        except NotFoundError:
            return False
        return True

    def follows(self, message: Message, line: MessageLine, found: MessagesById) -> bool:
        """Whether a message stands right after its line's parent, but for deleted ones."""
        parent = line.parent
        above = found.get(parent) if parent else None
        if parent is None and message.depth == 1:
            return True
        if above and (above.segment, above.depth + 1) == (message.segment, message.depth):
            return True
        nearest = self.find_live(message.id, before=message.depth)
        wanted = parent
        if parent is not None and above is None:
            # It may have been deleted: what is above it then counts.
            with contextlib.suppress(NotFoundError):
                wanted = _id_of(self.find_live(parent))
        return _id_of(nearest) == wanted


def lasting_documents(store: Store, owner: str, session: str | None = None) -> list[Document]:
    """Read the documents; those that expire are leases, which belong to their holder.

    What users have read is given as it is in any store.
    """
    found = store.list_documents(owner, session=session)
    lasting = [it for it in found if it.expires_us is None]
    return lasting if session is None else [elsewhere(it) for it in lasting]


def _id_of(message: Message | None) -> str | None:
    return None if message is None else message.id
