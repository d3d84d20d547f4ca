"""Where states are loaded, kept current, and where records are committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from ....calls import AsyncAnswer
from ....errors import SapwoodError, StoreCorruptError, StoreUnavailableError
from ...base.queues import AsyncCallerQueues
from ...base.refusals import no_session
from ..cache import StateCache
from ..errors import BehindError, busy, too_many
from ..fold import fold, turn_page
from ..log_documents import (
    LogDocument,
    LogEntry,
    entry_key,
    entry_of,
    first_state,
    key_of,
    owner_log,
    record_key,
)
from ..record import Record, decode_record, is_page_due, next_state, state_at, stored_record
from ..rows import appended_rows
from ..state import LogState, encode_state
from ..view import LogView
from ..work import Append, CombinedWork, LogWork
from .driver import AsyncLogDriver
from .leftovers import finish_leftovers

T = TypeVar("T")
TRIES = 200
FIRST = 6
"""How many first records are looked for: a later one shows that a log is there, and lost some."""
MOST_ENTRIES = 64
"""How many entries of one name are got at once, at most."""

Decision = tuple[LogWork | CombinedWork | None, T]
"""What to record, or None for nothing; and what to answer the caller besides."""


class AsyncLogs:
    """The logs of one database, for any number of callers."""

    def __init__(
        self, driver: AsyncLogDriver, new_id: Callable[[], str], clock: Callable[[], int] | None
    ) -> None:
        self.driver = driver
        self.cache = StateCache()
        self.queues = AsyncCallerQueues()
        self.new_id = new_id
        self._clock = clock

    async def now(self) -> int:
        """Return the time: the database's, or that of a clock that was given."""
        return await self.driver.now() if self._clock is None else self._clock()

    async def stamp(self) -> int:
        """Return a number that is larger than those given before."""
        return self.cache.stamp(await self.now())

    # states

    async def load(self, tree: str, log: str) -> LogState | None:
        """Return what is remembered of a log, or read it; None when there is no such log."""
        return self.cache.find(log) or await self.read_log(tree, log)

    async def load_or_begin(self, tree: str, log: str) -> LogState:
        """Load a log; one that is not there yet is empty."""
        return await self.load(tree, log) or first_state(tree, log)

    async def owner_state(self, owner: str, what: str) -> LogState:
        """Get the state of a log of an owner's."""
        log = owner_log(owner, what)
        [state] = await self.catch_up([await self.load_or_begin(log, log)])
        return state

    async def read_log(self, tree: str, log: str) -> LogState | None:
        """Read a log from its newest page on."""
        for is_last in (False, True):
            page = await self.driver.newest_page(tree, log)
            if page is None:
                # A session's log begins with a page, and that of an owner after it.
                keys = [record_key(tree, log, n) for n in range(FIRST)]
                page, second, *others = await self.driver.get(keys)
                if page is None and second is None and any(others):
                    if is_last:
                        raise StoreCorruptError(f"the first record of log {log} is missing")
                    continue
                if page is None and (second is None or second.data):
                    return None
            if page is not None and page.data:
                try:
                    return self.cache.keep(await self._follow(state_at(page)))
                except BehindError:
                    if is_last:
                        raise StoreCorruptError(f"log {log} has an empty record") from None
            await self.driver.refresh()
        # It was given up before anybody knew of it.
        return None

    async def _follow(self, state: LogState) -> LogState:
        """Read on from a state to the end of its log."""
        while records := await self.driver.following(state.tree, state.log, state.n):
            for stored in records:
                state = next_state(state, stored)
        return state

    async def catch_up(self, states: Sequence[LogState]) -> list[LogState]:
        """Bring states up to date, with one look at all of them."""
        keys = [record_key(it.tree, it.log, it.n + 1) for it in states]
        found = await self.driver.get(keys)
        current: list[LogState] = []
        for state, stored in zip(states, found, strict=True):
            if stored is None:
                current.append(state)
                continue
            try:
                after = await self._follow(next_state(state, stored))
            except BehindError:
                # It is so old that what follows it was swept since.
                self.cache.forget(state.log)
                read = await self.read_log(state.tree, state.log)
                if read is None:
                    raise StoreCorruptError(f"log {state.log} has no page") from None
                after = read
            current.append(self.cache.keep(after))
        return current

    # sessions

    async def entries(self, owner: str | None) -> list[LogEntry]:
        """Return the entries of an owner, or of everybody, but for those that are void."""
        read = [entry_of(stored) for stored in await self.driver.entries(owner)]
        return [it for it in read if it is not None and owner in (None, it.owner)]

    async def alive(self, owner: str) -> list[LogState]:
        """Return the sessions of an owner, up to date, in the order in which they were created."""
        named = [it for it in await self.entries(owner) if it.session and not it.ended]
        states = [await self.load_entry(entry) for entry in named]
        current = await self.catch_up(states) if states else []
        return sorted((it for it in current if it.is_alive), key=lambda it: it.log)

    async def find_entry(self, owner: str, session: str) -> tuple[int, LogState | None]:
        """Find the session of a name by its entries: how many there were, and the one alive."""
        k = self.driver.count_forgotten(entry_key(owner, session, 0).shard)
        window = 1
        while True:
            keys = [entry_key(owner, session, k + 1 + n) for n in range(window)]
            for stored in await self.driver.get(keys):
                if stored is None:
                    return k, None
                k += 1
                entry = entry_of(stored)
                if entry is None or entry.ended:
                    continue
                state = await self.load_entry(entry)
                if state.is_alive:
                    return k, state
            window = min(2 * window, MOST_ENTRIES)

    async def find_current(self, owner: str, session: str) -> tuple[int, LogState | None]:
        """Find the session of a name that is alive now, and not only as it is remembered."""
        while True:
            k, found = await self.find_entry(owner, session)
            if found is None:
                return k, None
            [found] = await self.catch_up([found])
            if found.is_alive:
                return k, found

    async def load_entry(self, entry: LogEntry) -> LogState:
        """Load the session that an entry names."""
        state = await self.load(entry.tree, entry.log)
        if state is None:
            raise StoreCorruptError(f"session {entry.session!r} has an entry and no log")
        if state.is_alive:
            self.cache.name(state)
        return state

    async def remembered(self, owner: str, session: str) -> LogState:
        """Get a session's state, which may be old."""
        known = self.cache.find_session(owner, session)
        state = known or (await self.find_entry(owner, session))[1]
        if state is None:
            raise no_session(session)
        return state

    async def current(self, owner: str, session: str) -> LogState:
        """Get a session's state as it is now."""
        known = self.cache.find_session(owner, session)
        if known is not None:
            [known] = await self.catch_up([known])
        if known is None or not known.is_alive:
            _, known = await self.find_current(owner, session)
        if known is None:
            raise no_session(session)
        return known

    async def view(self, state: LogState) -> LogView:
        """Put together what a session sees, of homes that are up to date."""
        return (await self.views([state]))[0]

    async def views(self, states: Sequence[LogState]) -> list[LogView]:
        """Put together what several sessions see, with one look at all their homes."""
        homes: dict[str, LogState] = {}
        for state, log in ((it, log) for it in states for log, _ in it.homes):
            home = await self.load(state.tree, log)
            if home is None:
                raise StoreCorruptError(f"session {state.session!r} stands on a missing log")
            homes[log] = home
        current = {it.log: it for it in (await self.catch_up([*homes.values()]) if homes else [])}
        return [LogView(it, {log: current[log] for log, _ in it.homes}) for it in states]

    async def look(
        self,
        owner: str,
        session: str,
        work: Callable[[LogView], AsyncAnswer[T]],
        ahead: Callable[[LogState], Sequence[int]] | None = None,
    ) -> T:
        """Read a session as it is at one moment; begin again when that is over.

        `ahead` says which of its records will be read: they are got as its newest is looked for.
        """

        async def attempt() -> T:
            state, fetched = await self._current_with(owner, session, ahead)
            return await self.read_by([state], lambda views: work(views[0]), fetched)

        return await again(attempt)

    async def read_at(self, state: LogState, work: Callable[[LogView], AsyncAnswer[T]]) -> T:
        """Read a session by a state that may not be the newest any more; then by that."""
        session = state.session
        for _ in range(TRIES):
            with suppress(BehindError):
                return await self.read_by([state], lambda views: work(views[0]))
            [state] = await self.catch_up([state])
            if not state.is_alive:
                raise no_session(session)
        raise busy()

    async def read_by(
        self,
        states: Sequence[LogState],
        work: Callable[[list[LogView]], AsyncAnswer[T]],
        fetched: Sequence[LogDocument] = (),
    ) -> T:
        """Read sessions by these states; `BehindError` when what is missing may be gone since."""
        try:
            views = await self.views(states)
            if fetched:
                views[0].fetched = fetched
            return await work(views)
        except StoreCorruptError:
            if await self.are_over(states):
                raise BehindError from None
            raise

    async def are_over(self, states: Sequence[LogState]) -> bool:
        """Whether a log went on: what is missing may have been cleared away since."""
        now = await self.catch_up(states) if states else []
        return any(a.n > b.n for a, b in zip(now, states, strict=True))

    async def _current_with(
        self, owner: str, session: str, ahead: Callable[[LogState], Sequence[int]] | None
    ) -> tuple[LogState, Sequence[LogDocument]]:
        known = self.cache.find_session(owner, session)
        numbers = ahead(known) if ahead and known is not None else ()
        if known is None or not numbers:
            return await self.current(owner, session), ()
        keys = [record_key(known.tree, known.log, n) for n in (known.n + 1, *numbers)]
        following, *found = await self.driver.get(keys)
        if following is not None:
            return await self.current(owner, session), ()
        return known, [it for it in found if it is not None and it.data]

    # commits

    async def change(
        self, owner: str, session: str, decide: Callable[[LogState], AsyncAnswer[Decision[T]]]
    ) -> tuple[LogState, T]:
        """Decide by a session's state and record it; decide again when another was first.

        Returns the state after that, and what was answered.
        """
        state = await self.remembered(owner, session)
        async with self.queues.of(state.log):
            state = self.cache.find(state.log) or state
            return await self._decide(state, decide, lambda: self.current(owner, session))

    async def change_log(
        self, tree: str, log: str, decide: Callable[[LogState], AsyncAnswer[Decision[T]]]
    ) -> tuple[LogState, T]:
        """Decide by the state of any log, whether its session is alive or not."""
        async with self.queues.of(log):
            return await self._decide(await self.load_or_begin(tree, log), decide, None)

    async def change_owner(
        self, owner: str, what: str, decide: Callable[[LogState], AsyncAnswer[Decision[T]]]
    ) -> tuple[LogState, T]:
        """Decide by the state of a log of an owner's."""
        log = owner_log(owner, what)
        return await self.change_log(log, log, decide)

    async def _decide(
        self,
        state: LogState,
        decide: Callable[[LogState], AsyncAnswer[Decision[T]]],
        successor: Callable[[], AsyncAnswer[LogState]] | None,
    ) -> tuple[LogState, T]:
        is_current = False
        for _ in range(TRIES):
            if successor is not None and not state.is_alive:
                state, is_current = await successor(), True
            outcome = await self._attempt(state, decide, is_current)
            if outcome is not None:
                return outcome
            [state] = await self.catch_up([state])
            is_current = True
        raise busy()

    async def _attempt(
        self,
        state: LogState,
        decide: Callable[[LogState], AsyncAnswer[Decision[T]]],
        is_current: bool,
    ) -> tuple[LogState, T] | None:
        """Decide and record; None when the state is not, or may not be, the newest."""
        try:
            work, answer = await decide(state)
        except BehindError:
            return None
        except SapwoodError as error:
            # What is wrong by an old state may be right by the one that is there now.
            is_damage = isinstance(error, StoreCorruptError)
            if is_current and not (is_damage and await self.are_over([state])):
                raise
            return None
        if work is None:
            return (state, answer) if is_current else None
        after = await self.commit(state, work)
        return None if after is None else (after, answer)

    async def commit(self, state: LogState, decided: LogWork | CombinedWork) -> LogState | None:
        """Create the next record of a log; None when somebody else did."""
        work, also = decided if isinstance(decided, CombinedWork) else (decided, [])
        after = fold(state, work, also)
        data = None
        if is_page_due(after, work):
            # A page says that all before it was done beside the records, too.
            await finish_leftovers(self, state)
            after = turn_page(state, after)
            data = encode_state(after)
            after = replace(after, page_bytes=len(data))
        if isinstance(work, Append) and len(work.messages) > self.driver.max_messages:
            raise too_many(len(work.messages), self.driver.max_messages)
        mark = self.new_id()
        record = Record(mark, await self.stamp(), work, data, also)
        stored = stored_record(after, record, self.driver.max_data_bytes)
        if not await self._create(stored, mark):
            return None
        if self.driver.rows is not None and isinstance(work, Append):
            self.driver.rows.keep(appended_rows(work, after.n, after.own(work.number)))
        return self.cache.keep(after)

    async def _create(self, stored: LogDocument, mark: str) -> bool:
        """Create a record; when the answer is lost, send it once more and find out whose it is."""
        try:
            return await self.driver.create(stored)
        except StoreUnavailableError:
            if await self.driver.create(stored):
                return True
        [found] = await self.driver.get([key_of(stored)])
        if found is None or not found.data:
            return False
        return decode_record(found.data, found.id).mark == mark


class AsyncLogSubject:
    """Work on one subject, over the logs of one database."""

    def __init__(self, logs: AsyncLogs) -> None:
        self._logs = logs


async def again(attempt: Callable[[], AsyncAnswer[T]]) -> T:
    """Try until it is done by states that are not behind."""
    for _ in range(TRIES):
        try:
            return await attempt()
        except BehindError:
            continue
    raise busy()
