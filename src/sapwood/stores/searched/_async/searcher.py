"""Searching: the index finds candidates, the newest first, and what the store says decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ....errors import StoreUnavailableError
from ....model import EntryRef, Hits, Message, Overlay, Search, SessionRecord
from ....rules import check
from ....rules.match import is_said
from ....rules.query import Query, parse
from ....rules.text import fold, searchable
from ....store._async.contract import AsyncStore
from ...base.bounded_dict import BoundedDict
from ...base.found import SUMMARY_ROLE, Said
from ..entry import (
    CandidateOrder,
    IndexGoneError,
    SearchCandidate,
    SearchQuestion,
    SessionScope,
    hashed,
)
from ..matches import SearchMatches
from .feeder import AsyncFeeder
from .index import AsyncSearchIndex
from .source import AsyncLiveMessages, AsyncSource, AsyncWalk, overlays_of

TRIES = 3
MOST_IN_A_BATCH = 1_000
MOST_SEGMENTS = 10_000
MOST_REMEMBERED = 1_000


class AsyncSearcher:
    """Answers searches from an index, after it caught up with the store."""

    def __init__(self, store: AsyncStore, index: AsyncSearchIndex, source: AsyncSource) -> None:
        self._store = store
        self._index = index
        self._source = source
        self.feeder = AsyncFeeder(store, index, source)
        self._scopes = BoundedDict[tuple[str, str, int], list[str]](MOST_REMEMBERED)

    async def search(self, owner: str, search: Search) -> Hits:
        """Find what matches, as it stands now."""
        check.owner(owner)
        check.search(search)
        query = parse(search.text)
        for _ in range(TRIES):
            # The next try makes an index anew that is gone.
            with suppress(IndexGoneError):
                await self.feeder.catch_up(owner)
                scope = None
                if search.session is not None:
                    scope = await self._scope(owner, search.session)
                question = SearchQuestion(query=query, scope=scope)
                run = AsyncSearchRun(self._store, self._index, self._source, owner, search, query)
                return await run.look(question)
        raise StoreUnavailableError("the search index is removed again and again: try again")

    async def _scope(self, owner: str, session: str) -> SessionScope | None:
        """Return where to look for what a session sees; None when that is too many places."""
        standpoint = await self._source.standpoint(owner, session)
        segments: list[str] = []
        if standpoint.forked_at is not None:
            # A fork's path to its fork point never changes.
            name = (owner, session, standpoint.created_us)
            if name not in self._scopes:
                walk = AsyncWalk(self._store, owner, session)
                self._scopes[name] = await walk.segments(standpoint.forked_at)
            segments = self._scopes[name]
        if len(segments) > MOST_SEGMENTS:
            return None
        return SessionScope(session=session, segments=segments)


class AsyncSearchRun:
    """One search: looks at candidates until enough of them match."""

    def __init__(
        self,
        store: AsyncStore,
        index: AsyncSearchIndex,
        source: AsyncSource,
        owner: str,
        search: Search,
        query: Query,
    ) -> None:
        self._store = store
        self._index = index
        self._source = source
        self._owner = owner
        self._session = search.session
        self._kind = search.kind if search.session is None else None
        self._found = SearchMatches(owner, search, query)
        self._query = query
        self._standing = AsyncLiveMessages(store, owner, self._kind)
        self._kinds: dict[str, str | None] = {}
        self._records: dict[str, SessionRecord | None] = {}
        self._overlays: dict[str, list[Overlay]] = {}

    async def look(self, question: SearchQuestion) -> Hits:
        """Find what matches; of one session, all its summaries are looked at."""
        size, below = self._found.batch, self._found.below
        if below is not None and self._session is None:
            await self._look_above(question, below)
        is_first = True
        while True:
            some = min(size, MOST_IN_A_BATCH)
            batch = await self._index.search(self._owner, question, some, below)
            seen = await self._look_at(batch)
            if self._session is not None and is_first:
                for overlay in await self._overlays_of(self._session):
                    await self._take_summary(self._session, overlay)
            await self._take_messages([c for c in batch if c.kind == "message"], seen)
            await self._take_summaries([c.session for c in batch if c.kind == "summaries"])
            if len(batch) < some or self._found.is_enough(_order_of(batch[-1])):
                return self._found.hits()
            size, below, is_first = 4 * size, _order_of(batch[-1]), False

    async def _look_above(self, question: SearchQuestion, below: CandidateOrder) -> None:
        """Look at older summaries of sessions that have newer ones: they stand with those."""
        around = replace(question, around_us=below[0])
        after: CandidateOrder | None = None
        while batch := await self._index.search(self._owner, around, MOST_IN_A_BATCH, after):
            await self._look_at(batch)
            await self._take_summaries([it.session for it in batch])
            after = _order_of(batch[-1])

    async def _look_at(self, batch: Sequence[SearchCandidate]) -> dict[str, dict[str, Message]]:
        """Look at what the store says of candidates, and of overlays that may match."""
        ids: dict[str, list[str]] = {}
        for it in batch:
            if it.kind == "message" and (it.session or self._session):
                ids.setdefault(self._session or it.session, []).append(it.id)
        shown = {it.session for it in batch if it.kind == "summaries"}
        if self._session is not None:
            shown.add(self._session)
        names = [*ids, *(shown - ids.keys())]
        unknown = shown - self._overlays.keys()
        wanted = {name: (ids.get(name, []), name in unknown) for name in names}
        seen = await self._source.look(self._owner, wanted, as_followed=True)
        for name in unknown:
            self._overlays[name] = seen[name].overlays if name in seen else []
        return {session: it.messages for session, it in seen.items()}

    async def _take_messages(
        self, candidates: Sequence[SearchCandidate], seen: Mapping[str, Mapping[str, Message]]
    ) -> None:
        live = await self._standing.live(candidates, self._session, seen)
        for candidate in candidates:
            if candidate.key not in live:
                continue
            message, session = live[candidate.key]
            if not await self._is_asked(session):
                continue
            said: Said[None] = Said(
                None,
                session,
                EntryRef(kind="message", id=message.id),
                message.role,
                message.position,
                message.created_us,
                searchable(message.parts),
            )
            await self._take(said, candidate.key)

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
            oldest = await self._oldest(name, session, sharing)
            if oldest is not None:
                await self._take_summary(oldest, overlay)

    async def _oldest(self, name: object, session: str, sharing: Sequence[str]) -> str | None:
        """Return the oldest session of those asked for that has an overlay in force."""
        having = [
            it
            for it in dict.fromkeys([session, *sharing])
            for overlay in await self._overlays_of(it)
            if (overlay.id, overlay.first, overlay.last) == name and await self._is_asked(it)
        ]
        if len(having) < 2:
            return having[0] if having else None
        sessions = await self._standing.sessions()
        return next((it.id for it in sessions if it.id in having), having[0])

    async def _is_asked(self, session: str) -> bool:
        """Whether a session is of the kind that is asked for; that never changes."""
        if self._kind is None:
            return True
        if session not in self._kinds:
            self._kinds[session] = await self._source.kind(self._owner, session)
        return self._kinds[session] == self._kind

    async def _take_summary(self, session: str, overlay: Overlay) -> None:
        entry = EntryRef(kind="overlay", id=overlay.id)
        said: Said[None] = Said(
            None, session, entry, SUMMARY_ROLE, overlay.last, overlay.created_us, overlay.summary
        )
        # Less than the keys of sessions' summaries: those are given before this is asked for.
        await self._take(said, hashed(overlay.id, overlay.first, overlay.last))

    async def _take(self, said: Said[None], key: str) -> None:
        title, tags, session = None, list[str](), said.session_id
        if self._found.asks_of_sessions:
            if session not in self._records:
                self._records[session] = await self._store.find_session(self._owner, session)
            record = self._records[session]
            if record is not None:
                title, tags = record.title, record.tags
        self._found.take((said.created_us, key), said, title, tags)

    async def _overlays_of(self, session: str) -> list[Overlay]:
        if session not in self._overlays:
            self._overlays[session] = await overlays_of(self._store, self._owner, session)
        return self._overlays[session]


def _order_of(candidate: SearchCandidate) -> CandidateOrder:
    return candidate.created_us, candidate.key
