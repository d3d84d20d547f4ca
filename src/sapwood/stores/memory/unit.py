"""All that a unit of work can do on the memory store."""

from __future__ import annotations

from ..base._sync.unit import Unit
from .admin import MemoryAdmin
from .documents import MemoryDocuments, drop_expired
from .feed import MemoryFeed, settle_feeds
from .messages import MemoryMessages
from .overlays import MemoryOverlays
from .searching import MemorySearches
from .sessions import MemorySessions
from .state import State
from .usage import MemoryUsages
from .view import settle_sum


class MemoryUnit(Unit):
    """The store's state, by subject.

    There is no rollback: every method decides all that can fail before its first change. An append
    and a new session are there as a whole or not at all, even when they are interrupted.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._sessions = MemorySessions(self._state)
        self._messages = MemoryMessages(self._state)
        self._overlays = MemoryOverlays(self._state)
        self._documents = MemoryDocuments(self._state)
        self._search = MemorySearches(self._state)
        self._usage = MemoryUsages(self._state)
        self._feed = MemoryFeed(self._state)
        self._admin = MemoryAdmin(self._state)

    @property
    def state(self) -> State:
        """All that the store holds."""
        return self._state

    @property
    def sessions(self) -> MemorySessions:
        """Work on sessions."""
        return self._sessions

    @property
    def messages(self) -> MemoryMessages:
        """Work on messages."""
        return self._messages

    @property
    def overlays(self) -> MemoryOverlays:
        """Work on overlays."""
        return self._overlays

    @property
    def documents(self) -> MemoryDocuments:
        """Work on documents."""
        return self._documents

    @property
    def search(self) -> MemorySearches:
        """Work on searching."""
        return self._search

    @property
    def usage(self) -> MemoryUsages:
        """Work on usage."""
        return self._usage

    @property
    def feed(self) -> MemoryFeed:
        """Work on the change feed."""
        return self._feed

    @property
    def admin(self) -> MemoryAdmin:
        """Work on the store as a whole."""
        return self._admin

    def settle(self) -> None:
        """Work out the sums that shared edits left behind, and tidy documents and feeds."""
        now = self._state.clock()
        drop_expired(self._state, now)
        for home in sorted(self._state.stale & self._state.homes.keys()):
            settle_sum(self._state, self._state.homes[home])
        settle_feeds(self._state, now)
