"""Work on the change feed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....model import Change, Changes
from ...base.refusals import cursor_ahead, feed_trimmed
from ..changes import FeedCursor, feed_cursor_text, read_feed_cursor
from ..statements import SubjectStatements, T

if TYPE_CHECKING:
    from .dialect import AsyncDialect

NO_BOUND: FeedCursor = (2**62, 2**62)


class AsyncFeedStatements(SubjectStatements[T]):
    """Statements about the feed, which is in commit order within a session."""

    beginning: FeedCursor

    @abstractmethod
    async def is_lost(self, owner: int | None, cursor: FeedCursor) -> tuple[bool, bool]:
        """Whether the feed has not come to a cursor, and whether it was trimmed after it."""

    @abstractmethod
    async def after(
        self, owner: int | None, cursor: FeedCursor, most: int, bound: FeedCursor
    ) -> Iterable[tuple[FeedCursor, Change | None]]:
        """Return what follows a cursor, each change with the cursor after it.

        None stands for what is passed over without a word. It may be looked up while it is gone
        through, no further than to so many changes.
        """

    async def has_more(self, owner: int | None, cursor: FeedCursor) -> bool:
        """Whether there is more after what `after` gave, for another call."""
        return False

    @abstractmethod
    async def newest(self, owner: int) -> FeedCursor:
        """Return the cursor behind all that `after` would give, or gave before it was trimmed."""

    @abstractmethod
    async def put_reader(self, owner: int, reader: str, cursor: FeedCursor) -> None:
        """Keep how far a reader is."""

    @abstractmethod
    async def drop_reader(self, owner: int, reader: str) -> bool:
        """Forget a reader; return whether there was one."""


class AsyncRelationalFeed:
    """Work on the change feed."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._lookup = dialect.lookup
        self._statements = dialect.feed

    async def changes(
        self, owner: str, after: str, limit: int, bound: FeedCursor = NO_BOUND
    ) -> Changes:
        """Read a page, up to numbers below which all is committed, where a store needs them."""
        cursor = read_feed_cursor(after, self._statements.beginning)
        number = await self._lookup.find_owner(owner)
        await self._refuse_lost(number, cursor)
        found: list[Change] = []
        following = await self._statements.after(number, cursor, limit + 1, bound)
        for place, change in following:
            if change is not None and len(found) == limit:
                return Changes(changes=found, cursor=feed_cursor_text(cursor), more=True)
            cursor = place
            if change is not None:
                found.append(change)
        more = await self._statements.has_more(number, cursor)
        return Changes(changes=found, cursor=feed_cursor_text(cursor), more=more)

    async def newest(self, owner: str) -> str:
        """Return the newest cursor."""
        number = await self._lookup.find_owner(owner)
        cursor = self._statements.beginning
        if number is not None:
            cursor = await self._statements.newest(number)
        return feed_cursor_text(cursor)

    async def forget(self, owner: str, reader: str) -> bool:
        """Let a reader hold nothing back any more."""
        number = await self._lookup.find_owner(owner)
        return number is not None and await self._statements.drop_reader(number, reader)

    async def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""
        cursor = read_feed_cursor(after, self._statements.beginning)
        number = await self._lookup.own_number(owner)
        await self._refuse_lost(number, cursor)
        await self._statements.put_reader(number, reader, cursor)

    async def _refuse_lost(self, owner: int | None, cursor: FeedCursor) -> None:
        if cursor == self._statements.beginning:
            return
        is_ahead, is_trimmed = await self._statements.is_lost(owner, cursor)
        if is_ahead:
            raise cursor_ahead(feed_cursor_text(cursor))
        if is_trimmed:
            raise feed_trimmed(feed_cursor_text(cursor))
