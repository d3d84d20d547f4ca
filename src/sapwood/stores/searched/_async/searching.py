"""Searching: the index finds candidates, the newest first, and what the store says decides."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import NotFoundError, StoreUnavailableError
from ....model import EntryRef, Hits, Overlay, Search, SessionRecord
from ....rules import check
from ....rules.match import is_said
from ....rules.query import Query, parse
from ....rules.text import fold, searchable
from ....store._async.contract import AsyncStore
from ...embedded.found import SUMMARY_ROLE, Said
from ..entry import Candidate, IndexGoneError, Question, Scope
from ..found import Found
from .feeding import AsyncFeeder
from .index import AsyncSearchIndex
from .lookup import overlays_of
from .standing import AsyncStanding
from .walking import AsyncWalk

TRIES = 3
MOST_IN_A_BATCH = 1_000
MOST_SEGMENTS = 10_000
MOST_REMEMBERED = 1_000


class AsyncSearcher:
    """Answers searches from an index, after it caught up with the store."""

    def __init__(self, store: AsyncStore, index: AsyncSearchIndex) -> None:
        self._store = store
        self._index = index
        self.feeder = AsyncFeeder(store, index)
        self._scopes: dict[tuple[str, str, int], list[str]] = {}

    async def search(self, owner: str, search: Search) -> Hits:
        """Find what matches, as it stands now."""
        check.owner(owner)
        check.search(search)
        query = parse(search.text)
        for _ in range(TRIES):
            try:
                return await self._search(owner, search, query)
            except IndexGoneError:
                # The next try makes it anew.
                continue
        raise StoreUnavailableError("the search index is removed again and again: try again")

    async def _search(self, owner: str, search: Search, query: Query) -> Hits:
        scope = None
        if search.session is not None:
            scope = await self._scope(owner, search.session)
        await self.feeder.catch_up(owner)
        looking = AsyncLooking(self._store, self._index, owner, search)
        return await looking.look(Question(query=query, scope=scope))

    async def _scope(self, owner: str, session: str) -> Scope | None:
        """Give where to look for what a session sees; None when that is too many places."""
        record = await self._store.find_session(owner, session)
        if record is None:
            raise NotFoundError(f"there is no session {session!r}", kind="session", id=session)
        segments: list[str] = []
        if record.forked_at is not None:
            segments = await self._inherited(owner, record, record.forked_at.depth)
        if len(segments) > MOST_SEGMENTS:
            return None
        return Scope(session=session, segments=segments)

    async def _inherited(self, owner: str, record: SessionRecord, depth: int) -> list[str]:
        # A fork's path to its fork point never changes.
        name = (owner, record.id, record.created_us)
        if name not in self._scopes:
            if len(self._scopes) >= MOST_REMEMBERED:
                self._scopes.clear()
            walk = AsyncWalk(self._store, owner, record.id)
            self._scopes[name] = await walk.segments(depth)
        return self._scopes[name]


class AsyncLooking:
    """One search: looks at candidates until enough of them match."""

    def __init__(
        self, store: AsyncStore, index: AsyncSearchIndex, owner: str, search: Search
    ) -> None:
        self._store = store
        self._index = index
        self._owner = owner
        self._session = search.session
        self._found = Found(parse(search.text), search.limit)
        self._query = parse(search.text)
        self._standing = AsyncStanding(store, owner)
        self._records: dict[str, SessionRecord | None] = {}
        self._overlays: dict[str, list[Overlay]] = {}

    async def look(self, question: Question) -> Hits:
        """Find what matches; of one session, all its summaries are looked at."""
        if self._session is not None:
            for overlay in await self._overlays_of(self._session):
                await self._take_summary(self._session, overlay)
        size, after = self._found.batch, None
        while True:
            some = min(size, MOST_IN_A_BATCH)
            batch = await self._index.search(self._owner, question, some, after)
            await self._take_messages([c for c in batch if c.kind == "message"])
            await self._take_summaries([c.session for c in batch if c.kind == "summaries"])
            if len(batch) < some or self._found.is_enough(batch[-1].created_us):
                return self._found.hits()
            size, after = 4 * size, batch[-1]

    async def _take_messages(self, candidates: Sequence[Candidate]) -> None:
        live = await self._standing.live(candidates, self._session)
        for candidate in candidates:
            if candidate.key not in live:
                continue
            message, session = live[candidate.key]
            said: Said[None] = Said(
                None,
                session,
                EntryRef(kind="message", id=message.id),
                message.role,
                message.position,
                message.created_us,
                searchable(message.parts),
            )
            await self._take(said)

    async def _take_summaries(self, sessions: Sequence[str]) -> None:
        """Look at the summaries of sessions; each is told as the oldest that has it in force."""
        said = {
            (it.id, it.first, it.last): (session, it)
            for session in sessions
            for it in await self._overlays_of(session)
            if any(is_said(branch, fold(it.summary)) for branch in self._query.branches)
        }
        if not said:
            return
        ids = [id for id, _, _ in said]
        sharing = await self._index.sessions_with(self._owner, list(dict.fromkeys(ids)))
        for name, (session, overlay) in said.items():
            await self._take_summary(await self._oldest(name, session, sharing), overlay)

    async def _oldest(self, name: object, session: str, sharing: Sequence[str]) -> str:
        having = [
            it
            for it in dict.fromkeys([session, *sharing])
            for overlay in await self._overlays_of(it)
            if (overlay.id, overlay.first, overlay.last) == name
        ]
        if len(having) < 2:
            return session
        return next((it.id for it in await self._standing.sessions() if it.id in having), session)

    async def _take_summary(self, session: str, overlay: Overlay) -> None:
        entry = EntryRef(kind="overlay", id=overlay.id)
        said: Said[None] = Said(
            None, session, entry, SUMMARY_ROLE, overlay.last, overlay.created_us, overlay.summary
        )
        await self._take(said)

    async def _take(self, said: Said[None]) -> None:
        title, tags = None, list[str]()
        if self._found.asks_of_sessions:
            record = await self._record_of(said.session_id)
            if record is not None:
                title, tags = record.title, record.tags
        self._found.take(said, title, tags)

    async def _record_of(self, session: str) -> SessionRecord | None:
        if session not in self._records:
            self._records[session] = await self._store.find_session(self._owner, session)
        return self._records[session]

    async def _overlays_of(self, session: str) -> list[Overlay]:
        if session not in self._overlays:
            self._overlays[session] = await overlays_of(self._store, self._owner, session)
        return self._overlays[session]
