"""The change feed: a log of its owner's that says how far it has come in each session's log.

Whoever reads it first takes note of what was recorded since; so all readers agree on one order,
and a writer need not know of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....model import Change, Changes
from ..changes import changes_of
from ..cursor import Cursor
from ..entry import Entry, entry_of, stored_entry
from ..state import State
from ..stored import owner_log, record_key
from ..work import Advance, Register, Trim, decode_record
from .desk import AsyncDesk, Decision
from .documents import owner_state

FEED = "feed"
KEPT_US = 3_600_000_000
"""A change is kept for an hour at least, for readers that did not register."""
RECORDS_AT_ONCE = 200
PARTS_AT_ONCE = 1000

Part = tuple[str, str, str, int, int]


class AsyncLogFeed:
    """Work on the change feed."""

    def __init__(self, desk: AsyncDesk) -> None:
        self._desk = desk

    async def changes(self, owner: str, after: str, limit: int) -> Changes:
        """Read a page."""
        state = await self._advance(owner)
        cursor = Cursor.read(after, state.trimmed)
        page = _Page(self._desk, cursor, limit)
        while page.has_room() and page.cursor.n < state.n:
            records = await self._desk.log.following(state.tree, state.log, page.cursor.n)
            for stored in records:
                work = decode_record(stored.data, stored.id).work if stored.data else None
                await page.take(stored.n, work.parts if isinstance(work, Advance) else [])
                if not page.has_room():
                    break
        return Changes(changes=page.changes, cursor=str(page.cursor), more=page.more)

    async def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""
        await self._desk.log.create_all([stored_entry(Entry(owner))])

        async def decide(state: State) -> Decision:
            return Decision(Register(reader, Cursor.read(after, state.trimmed).n))

        log = owner_log(owner, FEED)
        await self._desk.change_log(log, log, decide)

    async def _advance(self, owner: str) -> State:
        """Take note of all that was recorded in the owner's sessions so far."""
        parts = await self._recorded(owner)
        state = await owner_state(self._desk, owner, FEED)
        while any(last > state.seen.get(log, 0) for _, _, log, _, last in parts):
            state = await self._note(owner, parts)
        return state

    async def _recorded(self, owner: str) -> list[Part]:
        entries = [entry_of(stored) for stored in await self._desk.log.entries(owner)]
        named = [it for it in entries if it is not None and it.session and it.owner == owner]
        ended = [(it.session, it.tree, it.log, 0, it.ended) for it in named if it.ended]
        states = [await self._desk.load_entry(it) for it in named if not it.ended]
        current = await self._desk.catch_up(states) if states else []
        names = {it.log: it.session for it in named}
        return [*ended, *((names[it.log], it.tree, it.log, 0, it.n) for it in current)]

    async def _note(self, owner: str, parts: Sequence[Part]) -> State:
        async def decide(state: State) -> Decision:
            unseen = [
                (session, tree, log, state.seen.get(log, 0) + 1, last)
                for session, tree, log, _, last in sorted(parts, key=lambda part: part[2])
                if last > state.seen.get(log, 0)
            ]
            now = await self._desk.now()
            return Decision(Advance(now, unseen[:PARTS_AT_ONCE]) if unseen else None)

        log = owner_log(owner, FEED)
        return (await self._desk.change_log(log, log, decide)).state


class _Page:
    """A page of the feed that is being filled."""

    def __init__(self, desk: AsyncDesk, cursor: Cursor, limit: int) -> None:
        self._desk = desk
        self._limit = limit
        self.cursor = cursor
        self.changes: list[Change] = []
        self.more = False

    def has_room(self) -> bool:
        """Tell whether the limit was not met yet."""
        return not self.more

    async def take(self, n: int, parts: Sequence[Part]) -> None:
        """Take the changes of a record of the feed, from where the cursor is."""
        for index in range(self.cursor.part, len(parts)):
            await self._take_part(index, parts[index])
            if self.more:
                return
            self.cursor = Cursor(self.cursor.n, index + 1)
        self.cursor = Cursor(n)

    async def _take_part(self, index: int, part: Part) -> None:
        session, tree, log, first, last = part
        first = max(first, self.cursor.record)
        for start in range(first, last + 1, RECORDS_AT_ONCE):
            numbers = range(start, min(start + RECORDS_AT_ONCE, last + 1))
            keys = [record_key(tree, log, n) for n in numbers]
            for n, stored in zip(numbers, await self._desk.log.get(keys), strict=True):
                work = (
                    decode_record(stored.data, stored.id).work if stored and stored.data else None
                )
                told = changes_of(work, session) if work is not None else []
                self._take_changes(index, n, told)
                if self.more:
                    return

    def _take_changes(self, index: int, n: int, told: Sequence[Change]) -> None:
        done = self.cursor.done if self.cursor.record == n else 0
        room = self._limit - len(self.changes)
        unseen = told[done:]
        self.changes += unseen[:room]
        if len(unseen) > room:
            self.cursor = Cursor(self.cursor.n, index, n, done + room)
            self.more = True


async def trim(desk: AsyncDesk, owner: str) -> None:
    """Forget what every registered reader has read and is old enough."""
    state = await owner_state(desk, owner, FEED)
    passed = min(state.readers.values(), default=0)
    if passed <= state.trimmed:
        return
    keys = [record_key(state.tree, state.log, n) for n in range(state.trimmed + 1, passed + 1)]
    kept_from = await desk.now() - KEPT_US
    old = state.trimmed
    for stored in await desk.log.get(keys):
        work = decode_record(stored.data, stored.id).work if stored and stored.data else None
        if stored is None or (isinstance(work, Advance) and work.at_us > kept_from):
            break
        old = stored.n
    if old > state.trimmed:

        async def decide(now: State) -> Decision:
            return Decision(Trim(old) if old > now.trimmed else None)

        await desk.change_log(state.tree, state.log, decide)
        await desk.log.blank(keys[: old - state.trimmed])
