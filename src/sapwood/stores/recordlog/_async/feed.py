"""The change feed: a log of its owner's that says how far it has come in each session's log.

Whoever reads it first takes note of what was recorded since; so all readers agree on one order,
and a writer need not know of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from ....errors import StoreCorruptError
from ....model import Change, Changes
from ...base.feed_age import KEPT_AT_MOST_US
from ..errors import BehindError
from ..feed import FeedPart, LogCursor, changes_of, merged
from ..log_documents import LogDocument, LogEntry, owner_log, record_key
from ..record import decode_record, work_of
from ..state import LogState
from ..work import (
    AdvanceFeed,
    ForgetReader,
    LogWork,
    RegisterReader,
    SkipNumbers,
    TrimFeed,
    combined,
)
from .logs import AsyncLogs, AsyncLogSubject, Decision, again

FEED = "feed"
KEPT_US = 3_600_000_000
"""A change is kept for an hour at least, for readers that did not register."""
RECORDS_AT_ONCE = 200
FEWEST_AT_ONCE = 8
PARTS_AT_ONCE = 1000
UNSEEN = -1

RecordVersions = dict[str, int]
"""The versions of the records of sessions that are there, by log."""


class AsyncLogFeed(AsyncLogSubject):
    """Work on the change feed."""

    async def changes(self, owner: str, after: str, limit: int) -> Changes:
        """Read a page; begin again when the feed was trimmed meanwhile."""
        return await again(lambda: self._read(owner, after, limit))

    async def _read(self, owner: str, after: str, limit: int) -> Changes:
        state, noted, versions = await self._advance(owner)
        cursor = self._cursor(state, after)
        page = _FeedPage(self._logs, versions, cursor, limit)
        while page.has_room() and page.cursor.n < state.n:
            if page.cursor.n + 1 in noted:
                await page.take(page.cursor.n + 1, noted[page.cursor.n + 1])
                continue
            records = await self._logs.driver.following(state.tree, state.log, page.cursor.n)
            _refuse_gap([it.n for it in records], page.cursor.n + 1, state.log)
            for stored in records:
                work = work_of(stored)
                if work is None:
                    raise BehindError
                n = work.n if isinstance(work, SkipNumbers) else stored.n
                await page.take(n, work.parts if isinstance(work, AdvanceFeed) else [])
                if not page.has_room():
                    break
        reached = page.cursor if page.more else page.news
        return Changes(changes=page.changes, cursor=str(reached), more=page.more)

    def _cursor(self, state: LogState, after: str) -> LogCursor:
        is_lost = partial(self._logs.driver.is_taken_back, state.log)
        return LogCursor.read(after, state.trimmed, state.n, is_lost)

    async def newest(self, owner: str) -> str:
        """Return the cursor behind all that was recorded so far."""
        state, _, _ = await self._advance(owner)
        return str(LogCursor(state.n))

    async def forget(self, owner: str, reader: str) -> bool:
        """Let a reader hold nothing back any more."""

        async def decide(state: LogState) -> Decision[bool]:
            is_known = reader in state.readers
            return ForgetReader(reader) if is_known else None, is_known

        _, is_known = await self._logs.change_owner(owner, FEED, decide)
        return is_known

    async def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""

        async def decide(state: LogState) -> Decision[None]:
            if not state.readers:
                # The first one sees to it that the owner is listed, for those who trim.
                await self._logs.driver.create_all([LogEntry(owner).stored()])
            n = self._cursor(state, after).n
            return None if state.readers.get(reader) == n else RegisterReader(reader, n), None

        await self._logs.change_owner(owner, FEED, decide)

    async def _advance(
        self, owner: str
    ) -> tuple[LogState, dict[int, Sequence[FeedPart]], RecordVersions]:
        """Take note of all that was recorded in the owner's sessions so far.

        Returns the feed's state, what it was that was noted here, by record, and the versions of
        the sessions' records.
        """
        state, parts, versions = await self._recorded(owner)
        noted: dict[int, Sequence[FeedPart]] = {}
        while any(last > state.seen.get(log, UNSEEN) for _, _, log, _, last in parts):
            state, told = await self._note(owner, parts)
            if told is not None:
                noted[state.n] = told.parts
        return state, noted, versions

    async def _recorded(self, owner: str) -> tuple[LogState, list[FeedPart], RecordVersions]:
        """Return the state of the feed, and how far the logs of the owner's sessions have come."""
        named = [it for it in await self._logs.entries(owner) if it.session]
        ended = [(it.session, it.tree, it.log, 0, it.ended) for it in named if it.ended]
        states = [await self._logs.load_entry(it) for it in named if not it.ended]
        log = owner_log(owner, FEED)
        known = await self._logs.load_or_begin(log, log)
        feed, *current = await self._logs.catch_up([known, *states])
        names = {it.log: it.session for it in named}
        parts = [*ended, *((names[it.log], it.tree, it.log, 0, it.n) for it in current)]
        return feed, parts, {it.log: it.version for it in current if it.is_alive}

    async def _note(
        self, owner: str, parts: Sequence[FeedPart]
    ) -> tuple[LogState, AdvanceFeed | None]:
        async def decide(state: LogState) -> Decision[AdvanceFeed | None]:
            unseen = [
                (session, tree, log, state.seen.get(log, UNSEEN) + 1, last)
                for session, tree, log, _, last in sorted(parts, key=lambda part: part[2])
                if last > state.seen.get(log, UNSEEN)
            ]
            if not unseen:
                return None, None
            if len(unseen) > 1:
                unseen = merged(unseen, await self._stamps(unseen))
            work = AdvanceFeed(await self._logs.now(), unseen[:PARTS_AT_ONCE])
            return work, work

        return await self._logs.change_owner(owner, FEED, decide)

    async def _stamps(self, parts: Sequence[FeedPart]) -> list[list[int]]:
        """Return when each of the parts' first records was written."""
        numbers = [
            range(first, min(last + 1, first + RECORDS_AT_ONCE)) for *_, first, last in parts
        ]
        keys = [
            record_key(tree, log, n)
            for (_, tree, log, _, _), some in zip(parts, numbers, strict=True)
            for n in some
        ]
        found = iter(await self._logs.driver.get(keys))
        return [_stamps_of(list(islice(found, len(some)))) for some in numbers]


def _stamps_of(records: Sequence[LogDocument | None]) -> list[int]:
    stamps: list[int] = []
    for stored in records:
        known = stamps[-1] if stamps else 0
        if stored is not None and stored.data:
            known = max(known, decode_record(stored.data, stored.id).stamp)
        stamps.append(known)
    return stamps


class _FeedPage:
    """A page of the feed that is being filled."""

    def __init__(
        self, logs: AsyncLogs, versions: RecordVersions, cursor: LogCursor, limit: int
    ) -> None:
        self._logs = logs
        self._versions = versions
        self._limit = limit
        self.cursor = cursor
        self.news = cursor
        """Where the last news were: what only says who has read what is none, and not passed."""
        self.changes: list[Change] = []
        self.more = False

    def has_room(self) -> bool:
        """Whether the limit was not met yet."""
        return not self.more

    async def take(self, n: int, parts: Sequence[FeedPart]) -> None:
        """Take the changes of a record of the feed, from where the cursor is."""
        left = self._left(parts)
        while some := list(islice(left, self._at_once())):
            keys = [record_key(*parts[index][1:3], record) for index, record in some]
            found = await self._logs.driver.get(keys)
            for (index, record), stored in zip(some, found, strict=True):
                _, _, log, _, last = parts[index]
                # Where a log was ended, no record need have been.
                if stored is None and record < last:
                    raise StoreCorruptError(f"record {record} of log {log} is missing")
                self._take_changes(index, record, self._changes(parts[index], record, stored))
                if self.more:
                    return
        self.cursor = LogCursor(n)
        if parts:
            self.news = self.cursor

    def _changes(self, part: FeedPart, n: int, stored: LogDocument | None) -> list[Change]:
        if stored is None or not stored.data:
            return []
        record = decode_record(stored.data, stored.id)
        return changes_of(record, n, part, self._versions.get(part[2]))

    def _left(self, parts: Sequence[FeedPart]) -> Iterator[tuple[int, int]]:
        """Yield the records that were not read whole: the part of each, and its number."""
        for index in range(self.cursor.part, len(parts)):
            *_, first, last = parts[index]
            if index == self.cursor.part:
                first = max(first, self.cursor.record)
            yield from ((index, record) for record in range(first, last + 1))

    def _at_once(self) -> int:
        """Return how many records to read: one more than there is room for, or some."""
        room = self._limit - len(self.changes) + 1
        return min(max(room, FEWEST_AT_ONCE), RECORDS_AT_ONCE)

    def _take_changes(self, index: int, n: int, told: Sequence[Change]) -> None:
        is_begun = (self.cursor.part, self.cursor.record) == (index, n)
        done = self.cursor.done if is_begun else 0
        room = self._limit - len(self.changes)
        unseen = told[done:]
        self.changes += unseen[:room]
        if len(unseen) > room:
            self.cursor = LogCursor(self.cursor.n, index, n, done + room)
            self.more = True


async def trim(logs: AsyncLogs, owner: str) -> None:
    """Forget what every registered reader has read and is old enough, and readers that are lost."""
    state = await logs.owner_state(owner, FEED)
    lost = {name: n for name, n in state.readers.items() if await _is_lost(logs, state, n)}
    kept = [n for name, n in state.readers.items() if name not in lost]
    passed = min(kept, default=state.n if lost else 0)
    if passed <= state.trimmed and not lost:
        return
    keys = [record_key(state.tree, state.log, n) for n in range(state.trimmed + 1, passed + 1)]
    kept_from = await logs.now() - KEPT_US
    old = state.trimmed
    for stored in await logs.driver.get(keys):
        work = work_of(stored)
        if stored is None or (isinstance(work, AdvanceFeed) and work.at_us > kept_from):
            break
        if isinstance(work, AdvanceFeed):
            # A cursor stands behind one of these.
            old = stored.n
    if old == state.trimmed and not lost:
        return

    async def decide(now: LogState) -> Decision[None]:
        works: list[LogWork] = [TrimFeed(old)] if old > now.trimmed else []
        gone = [name for name, n in lost.items() if now.readers.get(name) == n]
        return combined([*works, *map(ForgetReader, gone)]), None

    await logs.change_log(state.tree, state.log, decide)
    await logs.driver.blank(keys[: old - state.trimmed])


async def _is_lost(logs: AsyncLogs, state: LogState, n: int) -> bool:
    """Whether what follows a reader's cursor has been left unread for too long."""
    too_old = await logs.now() - KEPT_AT_MOST_US
    for start in range(n + 1, state.n + 1, FEWEST_AT_ONCE):
        some = range(start, min(start + FEWEST_AT_ONCE, state.n + 1))
        for stored in await logs.driver.get([record_key(state.tree, state.log, it) for it in some]):
            work = work_of(stored)
            if isinstance(work, AdvanceFeed):
                return work.at_us < too_old
    return False


def _refuse_gap(numbers: Sequence[int], first: int, log: str) -> None:
    """Refuse to pass over a record that is known to have been there."""
    if list(numbers) != list(range(first, first + max(1, len(numbers)))):
        raise StoreCorruptError(f"a record after {first - 1} of log {log} is missing")
