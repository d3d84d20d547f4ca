"""Following the store's change feed, so that the index says what the store says.

Any number of processes may do this at once. What they put is the same, or the later of two
versions stays; a mark is moved by the one who saw the mark before it. One that was overtaken looks
again at what it put: in between it may have gone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

from ....errors import NotFoundError
from ....model import Change, ChangeKind, Message, SessionRecord
from ....store._async.contract import AsyncStore
from ...base.bounded_dict import BoundedDict
from ..entry import (
    EntryFilter,
    FeedMark,
    IndexedSummaries,
    IndexEntry,
    SearchCandidate,
    digest_of,
)
from .index import AsyncSearchIndex
from .source import AsyncLiveMessages, AsyncSource, AsyncWalk, SourceContent, overlays_of

PAGE = 500
READER = "search index"
NOTED_AFTER = 500
"""How many changes are followed before that is noted in the feed, which keeps them until then."""
MOST_REMEMBERED = 100_000
OF_MESSAGES = frozenset(ChangeKind) - {ChangeKind.RECORD}


class AsyncFeeder:
    """Brings an index up to date with a store."""

    def __init__(self, store: AsyncStore, index: AsyncSearchIndex, source: AsyncSource) -> None:
        self._store = store
        self._index = index
        self._source = source
        # How many changes of an owner were followed since that was noted in the feed, and to where.
        self._unnoted = BoundedDict[str, tuple[int, str]](MOST_REMEMBERED)
        # Of forks: the homes that are alive of what they stand on.
        self._stands_on = BoundedDict[tuple[str, str, int], set[str]](MOST_REMEMBERED)

    async def catch_up(self, owner: str) -> None:
        """Follow an owner's feed to its end; read everything where it cannot be followed."""
        is_done = False
        while not is_done:
            mark = await self._index.find_mark(owner)
            if mark is None:
                is_done = not await self.build(owner, None)
                continue
            try:
                is_done = await self._follow(owner, mark)
            except NotFoundError:
                # The feed was trimmed since then, or the owner erased.
                await self.build(owner, mark)

    async def build(self, owner: str, known: FeedMark | None) -> bool:
        """Read all that an owner has, and remove what is gone; return whether there is anything."""
        cursor = await self._store.feed_cursor(owner)
        was_empty = not await self._index.list_page(owner, EntryFilter(), None)
        sessions = await AsyncLiveMessages(self._store, owner).sessions()
        for session in sessions:
            await self._put_all(owner, AsyncWalk(self._store, owner, session.id).own())
            await self._adopt(owner, session)
        named = [session.id for session in sessions]
        await self.summarise(owner, [*named, *await self._index.list_summarised(owner)])
        if not was_empty:
            await self._recheck(owner, EntryFilter())
        if not sessions and known is None:
            return False
        if await self._index.put_mark(owner, cursor, known):
            await self._register(owner, cursor)
        return True

    async def summarise(self, owner: str, sessions: Sequence[str]) -> None:
        """Index the summaries of sessions as they are now."""
        named = list(dict.fromkeys(sessions))
        for start in range(0, len(named), PAGE):
            some = named[start : start + PAGE]
            known = await self._index.find_summaries(owner, some)
            seen = await self._source.look(owner, {session: ([], True) for session in some})
            await self._summarise(owner, some, known, seen)

    async def renew(self, owner: str, messages: Sequence[str], overlays: Sequence[str]) -> None:
        """Index what says something else in the version that it had, given by ids."""
        found: list[SearchCandidate] = []
        which, after = EntryFilter(ids=messages), None
        while messages and (page := await self._index.list_page(owner, which, after)):
            found += page
            after = page[-1]
        if found:
            # Taken away first: of one version, what is there stays.
            await self._index.remove(owner, [it.key for it in found])
            live = await AsyncLiveMessages(self._store, owner).live(found)
            put = [IndexEntry.of(owner, it.message) for it in live.values()]
            await self._index.put(owner, put)
        if overlays:
            await self.summarise(owner, await self._index.sessions_with(owner, overlays))

    async def _summarise(
        self,
        owner: str,
        sessions: Sequence[str],
        known: Mapping[str, IndexedSummaries],
        seen: Mapping[str, SourceContent],
    ) -> None:
        """Index summaries; what is known of the index was looked up before they were."""
        for session in sessions:
            have = known.get(session)
            overlays = seen[session].overlays if session in seen else []
            while digest_of(overlays) != (have.digest if have else digest_of([])):
                if await self._index.put_summaries(owner, session, overlays, have):
                    break
                have = (await self._index.find_summaries(owner, [session])).get(session)
                overlays = await overlays_of(self._store, owner, session)

    async def note(self, owner: str) -> None:
        """Let the feed forget what was followed."""
        if followed := self._unnoted.get(owner):
            await self._register(owner, followed[1])

    async def _count(self, owner: str, count: int, cursor: str) -> None:
        """Count changes that were followed; of many, take note in the feed."""
        known, _ = self._unnoted.get(owner, (0, ""))
        self._unnoted[owner] = known + count, cursor
        if known + count >= NOTED_AFTER:
            await self.note(owner)

    async def _register(self, owner: str, cursor: str) -> None:
        """Keep the feed from being trimmed before it was followed."""
        with suppress(NotFoundError):
            await self._store.changes(owner, after=cursor, limit=1, reader=READER)
        self._unnoted.pop(owner, None)

    async def _put_all(self, owner: str, pages: AsyncIterator[list[Message]]) -> None:
        async for page in pages:
            await self._index.put(owner, [IndexEntry.of(owner, message) for message in page])

    async def _follow(self, owner: str, mark: FeedMark) -> bool:
        """Follow the feed for a page; return whether that was its end."""
        page = await self._store.changes(owner, after=mark.cursor, limit=PAGE)
        if page.cursor == mark.cursor:
            return True
        put = await self._take(owner, page.changes)
        is_first = await self._index.put_mark(owner, page.cursor, mark)
        if is_first and page.changes:
            # That may be a change of the feed itself: without any other, it is not noted.
            await self._count(owner, len(page.changes), page.cursor)
        if not is_first and put:
            await self._recheck(owner, EntryFilter(ids=put))
        return not page.more

    async def _take(self, owner: str, changes: Sequence[Change]) -> list[str]:
        """Index what changes name, as it is now; return the ids of what was put."""
        named: dict[str, dict[str, None]] = {}
        for change in changes:
            if change.kind not in OF_MESSAGES:
                continue
            ids = named.setdefault(change.session, {})
            if change.message is not None:
                ids[change.message] = None
        known = await self._index.find_summaries(owner, list(named))
        wanted = {session: (list(ids), True) for session, ids in named.items()}
        seen = await self._source.look(owner, wanted)
        put: list[IndexEntry] = []
        gone: list[str] = []
        for session, ids in named.items():
            found = seen[session].messages if session in seen else {}
            put += [IndexEntry.of(owner, message) for message in found.values()]
            gone += [id for id in ids if id not in found]
        await self._index.put(owner, put)
        if gone:
            await self._recheck(owner, EntryFilter(ids=gone))
        retired = {change.session for change in changes if change.kind is ChangeKind.RETIRE}
        if retired:
            await self._retire(owner, retired)
        await self._summarise(owner, list(named), known, seen)
        return [entry.id for entry in put]

    async def _retire(self, owner: str, retired: set[str]) -> None:
        """Keep of sessions that went what others stand on, and nothing else.

        The feed may have left out what they wrote, so it is read through those who stand on it.
        """
        for session in await AsyncLiveMessages(self._store, owner).sessions():
            homes = self._stands_on.get((owner, session.id, session.created_us))
            if homes is None or homes & retired:
                await self._adopt(owner, session)
        # What a session erased that is gone may be left out as well: of what had no home already.
        await self._recheck(owner, EntryFilter(sessions=[*retired, ""]))

    async def _adopt(self, owner: str, session: SessionRecord) -> None:
        """Index what a fork stands on and whose home is gone."""
        if session.forked_at is None:
            return
        walk = AsyncWalk(self._store, owner, session.id)
        await self._put_all(owner, walk.orphans(session.forked_at.depth))
        self._stands_on[(owner, session.id, session.created_us)] = walk.ended_at

    async def _recheck(self, owner: str, which: EntryFilter) -> None:
        """Remove those entries whose messages are gone; those whose home is gone say so then."""
        standing = AsyncLiveMessages(self._store, owner)
        after = None
        while page := await self._index.list_page(owner, which, after):
            after = page[-1]
            live = await standing.live(page)
            old = {it.key for it in page if it.key not in live}
            for it in page:
                if it.session and it.key in live and live[it.key].message.home is None:
                    await self._index.put(owner, [IndexEntry.of(owner, live[it.key].message)])
                    old.add(it.key)
            await self._index.remove(owner, list(old))
