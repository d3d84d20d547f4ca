"""The messages of a session as a store has them, beside what a line says of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import NotFoundError
from ..model import Message, Read
from ..store import Store
from .lines import MessageLine

MessagesById = dict[str, Message]


class StoredMessages:
    """Looks for the messages of one session."""

    def __init__(self, store: Store, owner: str, session: str) -> None:
        self._store = store
        self._owner = owner
        self._session = session

    def find(self, ids: Sequence[str]) -> MessagesById:
        """Find messages by their ids."""
        if not ids:
            return {}
        found = self._store.find_messages(self._owner, self._session, ids)
        return {message.id: message for message in found if message is not None}

    def find_with_parents(self, lines: Sequence[MessageLine]) -> MessagesById:
        """Find the messages of some lines, and of those that are there the parents."""
        found = self.find([line.id for line in lines])
        parents = {line.parent for line in lines if line.parent and line.id in found}
        return found | self.find([id for id in parents if id not in found])

    def is_deleted(self, id: str) -> bool:
        """Whether a message that is not found was deleted, and not just never there."""
        # A deleted message is not found, and still may be a leaf.
        try:
            self._live_at(id)
        except NotFoundError:
            return False
        return True

    def follows(self, message: Message, line: MessageLine, found: MessagesById) -> bool:
        """Whether a message stands right after its line's parent, but for deleted ones."""
        above = found.get(line.parent) if line.parent else None
        if line.parent is None and message.depth == 1:
            return True
        if above and (above.segment, above.depth + 1) == (message.segment, message.depth):
            return True
        return self._above(message) == self._nearest(line.parent, above)

    def _above(self, message: Message) -> str | None:
        """Find the nearest live message above one."""
        return self._live_at(message.id, before=message.depth)

    def _nearest(self, parent: str | None, found: Message | None) -> str | None:
        """Find the nearest live message at or above a parent, which may have been deleted."""
        if parent is None or found is not None:
            return parent
        try:
            return self._live_at(parent)
        except NotFoundError:
            return parent

    def _live_at(self, leaf: str, before: int | None = None) -> str | None:
        query = Read(leaf=leaf, overlays=False, before=before, limit=1, backwards=True)
        messages = self._store.read(self._owner, self._session, query).messages_only
        return messages[0].id if messages else None
