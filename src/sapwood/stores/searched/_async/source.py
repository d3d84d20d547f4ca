"""What an index is filled from and checked against: a store, asked through its contract.

A store that can answer for several sessions at once has a source of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple

from ....errors import NotFoundError, StoreCorruptError
from ....model import Leaf, Message, Overlay, Read, SessionQuery, SessionRecord
from ....store._async.contract import AsyncStore
from ...base.refusals import no_session
from ..entry import SearchCandidate

WantedEntries = Mapping[str, tuple[Sequence[str], bool]]
"""By session: the ids of messages, and whether its overlays are wanted."""

AT_ONCE = 500
SESSIONS_IN_A_PAGE = 1_000
MESSAGES_IN_A_PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
FIRST_LOOK = 64


class SourceContent(NamedTuple):
    """What was asked for of a session, by ids, and its overlays in force."""

    messages: dict[str, Message]
    overlays: list[Overlay]


class Standpoint(NamedTuple):
    """A session that is there: when it was made, and how deep its fork point is, if it has one."""

    created_us: int
    forked_at: int | None


class AsyncSource:
    """Asks a store, one session at a time."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def standpoint(self, owner: str, session: str) -> Standpoint:
        """Get a session as it was when the feed was followed, or later."""
        record = await self._store.find_session(owner, session)
        if record is None:
            raise no_session(session)
        at = record.forked_at
        return Standpoint(record.created_us, None if at is None else at.depth)

    async def kind(self, owner: str, session: str) -> str | None:
        """Find the kind of a session as it was when the feed was followed, or later."""
        record = await self._store.find_session(owner, session)
        return None if record is None else record.kind

    async def look(
        self, owner: str, wanted: WantedEntries, *, as_followed: bool = False
    ) -> dict[str, SourceContent]:
        """Look at sessions as they are now, or at least as they were when the feed was followed.

        Nothing is given of sessions that are gone, or of what cannot be decoded.
        """
        seen: dict[str, SourceContent] = {}
        for session, (ids, has_overlays) in wanted.items():
            overlays: list[Overlay] = []
            if has_overlays:
                overlays = await overlays_of(self._store, owner, session)
            seen[session] = SourceContent(
                await find_sound(self._store, owner, session, ids), overlays
            )
        return seen


async def find_sound(
    store: AsyncStore, owner: str, session: str, ids: Sequence[str]
) -> dict[str, Message]:
    """Find messages that a session sees, by their ids; none when the session is gone."""
    found: dict[str, Message] = {}
    if not session:
        return found
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        try:
            messages = await store.find_messages(owner, session, some)
        except NotFoundError:
            return {}
        except StoreCorruptError:
            messages = [await _find_one(store, owner, session, id) for id in some]
        found.update({message.id: message for message in messages if message is not None})
    return found


async def _find_one(store: AsyncStore, owner: str, session: str, id: str) -> Message | None:
    try:
        [message] = await store.find_messages(owner, session, [id])
    except (NotFoundError, StoreCorruptError):
        return None
    return message


async def overlays_of(store: AsyncStore, owner: str, session: str) -> list[Overlay]:
    """List the overlays in force for a session; none when it is gone."""
    try:
        return await store.list_overlays(owner, session)
    except NotFoundError:
        return []


async def sessions_of(store: AsyncStore, owner: str) -> list[SessionRecord]:
    """List all sessions of an owner, the oldest first."""
    found: list[SessionRecord] = []
    cursor: str | None = None
    while True:
        query = SessionQuery(kind=None, order="created", limit=SESSIONS_IN_A_PAGE, cursor=cursor)
        page = await store.list_sessions(owner, query)
        found += page.sessions
        cursor = page.cursor
        if cursor is None:
            return found[::-1]


class LiveMessage(NamedTuple):
    """A message as it is now, and the session that it is told as."""

    message: Message
    session: str


class AsyncLiveMessages:
    """Looks for messages in the store; what it learns of sessions it keeps for one call of ours."""

    def __init__(self, store: AsyncStore, owner: str, kind: str | None = None) -> None:
        self._store = store
        self._owner = owner
        self._kind = kind
        self._sessions: list[SessionRecord] | None = None

    async def sessions(self) -> list[SessionRecord]:
        """Return the owner's sessions of the kind, or all of them, the oldest first."""
        if self._sessions is None:
            found = await sessions_of(self._store, self._owner)
            self._sessions = [it for it in found if self._kind in (None, it.kind)]
        return self._sessions

    async def live(
        self,
        candidates: Sequence[SearchCandidate],
        seen_by: str | None = None,
        seen: Mapping[str, Mapping[str, Message]] | None = None,
    ) -> dict[str, LiveMessage]:
        """Return those candidates that are there, by their keys; seen by one session, or by any.

        `seen` is what the store says of them, where that is known: by session and id.
        """
        found: dict[str, LiveMessage] = {}
        left: list[SearchCandidate] = []
        for session, some in _by_session(candidates, seen_by).items():
            if seen is not None:
                messages = seen.get(session, {})
            else:
                ids = [c.id for c in some]
                messages = await find_sound(self._store, self._owner, session, ids)
            for candidate in some:
                message = messages.get(candidate.id)
                if message is not None and candidate.is_at(message) and message.home is not None:
                    found[candidate.key] = LiveMessage(message, message.home)
                elif seen_by is None or (message is not None and candidate.is_at(message)):
                    left.append(candidate)
        if left:
            found.update(await self._inherited(left))
        return found

    async def _inherited(self, left: list[SearchCandidate]) -> dict[str, LiveMessage]:
        """Return what is there though its home is gone: told as the oldest that stands on it."""
        found: dict[str, LiveMessage] = {}
        for session in await self.sessions():
            if session.forked_at is None:
                continue
            ids = [c.id for c in left if c.key not in found]
            if not ids:
                break
            messages = await find_sound(self._store, self._owner, session.id, ids)
            for candidate in left:
                message = messages.get(candidate.id)
                if message is not None and candidate.is_at(message):
                    found.setdefault(
                        candidate.key, LiveMessage(message, message.home or session.id)
                    )
        return found


def _by_session(
    candidates: Sequence[SearchCandidate], seen_by: str | None
) -> dict[str, list[SearchCandidate]]:
    groups: dict[str, list[SearchCandidate]] = {}
    for candidate in candidates:
        # Without a home's name any that stands on it is looked for, among all.
        groups.setdefault(seen_by or candidate.session, []).append(candidate)
    return groups


class AsyncWalk:
    """The walk through one session: upwards from the end of each branch, nothing twice."""

    def __init__(self, store: AsyncStore, owner: str, session: str) -> None:
        self._store = store
        self._owner = owner
        self._session = session
        self._given: dict[str, int] = {}
        self.ended_at: set[str] = set()
        """The homes at whose messages the orphans ended."""

    def own(self) -> AsyncIterator[list[Message]]:
        """Return what the session wrote, on all its branches."""
        return self._climb(None, lambda message: message.home == self._session)

    def orphans(self, fork: int) -> AsyncIterator[list[Message]]:
        """Return what stands at a fork point, and above it as long as its home is gone.

        What has a home again further up has an heir that gives what is above that.
        """
        return self._climb(fork, lambda message: message.home is None)

    async def segments(self, fork: int) -> list[str]:
        """Return the segments of the path to a fork point, and maybe more."""
        found: dict[str, None] = {}
        for leaf in await self._leaves():
            known, below = set(found), fork + 1
            while page := (await self._page(leaf.id, below, FIRST_LOOK))[0]:
                found.update(dict.fromkeys(message.segment for message in page))
                if any(message.segment in known for message in page):
                    # What is above a segment is the same on every path.
                    break
                below = page[-1].depth
                if page[0].segment == page[-1].segment:
                    below = await self._start_of(leaf.id, page[-1])
        return list(found)

    async def _leaves(self) -> list[Leaf]:
        try:
            return await self._store.list_leaves(self._owner, self._session)
        except NotFoundError:
            return []

    async def _climb(
        self, depth: int | None, is_wanted: Callable[[Message], bool]
    ) -> AsyncIterator[list[Message]]:
        """Yield each path from a depth upwards, to the first that is not wanted or was given."""
        for leaf in await self._leaves():
            reached: dict[str, int] = {}
            below = (leaf.position.depth if depth is None else depth) + 1
            while below > 1:
                page, below = await self._page(leaf.id, below, MESSAGES_IN_A_PAGE)
                fresh: list[Message] = []
                for message in page:
                    if not is_wanted(message) or self._was_given(message):
                        self.ended_at.add(message.home or "")
                        below = 0
                        break
                    fresh.append(message)
                    reached.setdefault(message.segment, message.depth)
                yield fresh
            self._given.update(reached)

    def _was_given(self, message: Message) -> bool:
        return message.depth <= self._given.get(message.segment, 0)

    async def _page(self, leaf: str, below: int, limit: int) -> tuple[list[Message], int]:
        """Read upwards, the deepest first; return also below which depth to go on, or 0."""
        query = Read(
            leaf=leaf,
            overlays=False,
            before=below,
            limit=limit,
            max_bytes=PAGE_BYTES,
            backwards=True,
        )
        try:
            history = await self._store.read(self._owner, self._session, query)
        except NotFoundError:
            return [], 0
        except StoreCorruptError:
            return await self._one_by_one(leaf, below)
        found = history.messages_only[::-1]
        return found, found[-1].depth if found and history.more else 0

    async def _one_by_one(self, leaf: str, below: int) -> tuple[list[Message], int]:
        """Read a stretch of a path in which something cannot be decoded, and pass over that."""
        found: list[Message] = []
        end = max(below - MESSAGES_IN_A_PAGE, 1)
        for depth in range(below - 1, end - 1, -1):
            query = Read(leaf=leaf, overlays=False, after=depth - 1, before=depth + 1)
            try:
                found += (await self._store.read(self._owner, self._session, query)).messages_only
            except StoreCorruptError:
                continue
            except NotFoundError:
                return [], 0
        return found, end

    async def _start_of(self, leaf: str, message: Message) -> int:
        """Find the first depth of a message's segment: halve the path above."""
        above, first = 0, message.depth
        while first - above > 1:
            middle = (above + first) // 2
            page, _ = await self._page(leaf, middle + 1, 1)
            if page and page[0].segment == message.segment:
                first = page[0].depth
            else:
                above = middle
        return first
