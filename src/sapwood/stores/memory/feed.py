"""The change feed: one list for each owner, numbered by the store's counter."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter

from ...errors import NotFoundError, UsageError
from ...model import Change, ChangeKind, Changes
from ..base.refusals import cursor_ahead
from ..base.unit import Feed
from .state import ChangeRow, FeedRow, SessionRow, State, is_number

KEPT_US = 3_600_000_000
"""A change is kept for an hour at least, for readers that did not register."""

_number = attrgetter("number")


def log(
    state: State,
    session: SessionRow,
    kind: ChangeKind,
    now: int,
    message: str | None = None,
    depth: int | None = None,
) -> int:
    """Add a change of a session's, and give its number."""
    row = new_change(state, session, kind, now, message, depth)
    feed_of(state, session.owner).changes.append(row)
    return row.number


def feed_of(state: State, owner: str) -> FeedRow:
    """Give an owner's feed, a new one if there is none."""
    feed = state.feeds.get(owner)
    if feed is None:
        # Cursors that are older than the feed are from before its owner was erased.
        feed = state.feeds[owner] = FeedRow(trimmed=state.counter)
    return feed


def new_change(
    state: State,
    session: SessionRow,
    kind: ChangeKind,
    now: int,
    message: str | None = None,
    depth: int | None = None,
) -> ChangeRow:
    """Make a change of a session's, which is not in the feed yet."""
    feed_of(state, session.owner)  # A new feed begins before its first number.
    return ChangeRow(
        number=state.next_number(),
        kind=kind,
        home=session.home,
        session=session.id,
        message=message,
        depth=depth,
        at_us=now,
    )


def settle_feeds(state: State, now: int) -> None:
    """Drop what sessions that are gone wrote, and what every registered reader has passed."""
    for feed in state.feeds.values():
        passed = min(feed.readers.values(), default=0)
        old = [r.number for r in feed.changes if r.number <= passed and r.at_us <= now - KEPT_US]
        feed.trimmed = max(old, default=feed.trimmed)
        feed.changes = [
            row for row in feed.changes if row.number > feed.trimmed and _is_told(state, row)
        ]


def _is_told(state: State, row: ChangeRow) -> bool:
    return row.kind is ChangeKind.RETIRE or row.home in state.homes


class MemoryFeed(Feed):
    """Work on the change feed."""

    def __init__(self, state: State) -> None:
        self._state = state

    def changes(self, owner: str, after: str, limit: int) -> Changes:
        start = self._read_cursor(owner, after)
        feed = self._state.feeds.get(owner)
        rows = feed.changes if feed else []
        page: list[Change] = []
        cursor = after
        for index in range(bisect_right(rows, start, key=_number), len(rows)):
            row = rows[index]
            if _is_told(self._state, row):
                if len(page) == limit:
                    return Changes(changes=page, cursor=cursor, more=True)
                page.append(_change(row))
            cursor = str(row.number)
        return Changes(changes=page, cursor=cursor, more=False)

    def register(self, owner: str, reader: str, after: str) -> None:
        start = self._read_cursor(owner, after)
        feed = feed_of(self._state, owner)
        feed.readers[reader] = max(start, feed.trimmed)

    def _read_cursor(self, owner: str, after: str) -> int:
        if not after:
            return 0
        if not is_number(after):
            raise UsageError(f"{after!r} is not a cursor of this feed", path="after")
        feed = self._state.feeds.get(owner)
        number = int(after)
        if number > self._state.counter:
            raise cursor_ahead(after)
        if feed is None or number < feed.trimmed or self._state.is_taken_back(number):
            raise NotFoundError(
                f"the feed was trimmed or taken back behind the cursor {after!r}: "
                "read everything, then go on from the feed's beginning",
                kind="cursor",
                id=after,
            )
        return number


def _change(row: ChangeRow) -> Change:
    return Change(
        kind=row.kind,
        session=row.session,
        message=row.message,
        depth=row.depth,
        at_us=row.at_us,
    )
