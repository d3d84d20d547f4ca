"""Whether an index holds what the store has: nothing missing, nothing left over."""

from __future__ import annotations

from typing import NamedTuple

from ....errors import NotFoundError, StoreBusyError
from ....model import ChangeKind, Message, Problem, SessionRecord
from ....rules.wording import counted
from ....store._async.contract import AsyncStore
from ..entry import EntryFilter, FeedMark, IndexGoneError, digest_of
from .index import AsyncSearchIndex
from .source import AsyncWalk, overlays_of, sessions_of

LOOKS = 10
"""How often a feed is looked at that says there is more and gives none; each look waits a while."""

MessageName = tuple[str, str, int, int]
"""A message, whoever it is indexed under: its id, its place, its time."""


class _CheckStart(NamedTuple):
    """What changed since the mark: of this nobody says yet whether it is indexed."""

    sessions: set[str]
    retired: set[str]
    ids: set[str]


class AsyncChecker:
    """Compares an index with a store."""

    def __init__(self, store: AsyncStore, index: AsyncSearchIndex) -> None:
        self._store = store
        self._index = index

    async def check(self) -> list[Problem]:
        """Return what is wrong, for each owner.

        That the index is behind is no problem, nor that it was not searched yet.
        """
        owners = await self._store.admin.list_owners()
        try:
            known = await self._index.list_owners()
            found = [(owner, what) for owner in owners for what in await self._faults(owner)]
        except IndexGoneError:
            known = []
            found = [(owner, what) for owner in owners for what in await self._unmarked(owner)]
        found += [(owner, "it is gone and still indexed") for owner in known if owner not in owners]
        return [Problem(kind="index", where=f"owner {owner}", what=what) for owner, what in found]

    async def _faults(self, owner: str) -> list[str]:
        mark = await self._index.find_mark(owner)
        if mark is None:
            # Nothing of it was ever searched, or the index does not know any more how far it is.
            is_new = not await self._index.list_page(owner, EntryFilter(), None)
            return [] if is_new else await self._unmarked(owner)
        try:
            since = await self._since(owner, mark)
        except NotFoundError:
            return ["the search index lost its place in the change feed"]
        sessions = await sessions_of(self._store, owner)
        return [
            *await self._messages(owner, sessions, since),
            *await self._summaries(owner, sessions, since),
        ]

    async def _unmarked(self, owner: str) -> list[str]:
        count = (await self._store.statistics(owner)).messages
        return [f"the search index lacks its {counted(count, 'message')}"] if count else []

    async def _since(self, owner: str, mark: FeedMark) -> _CheckStart:
        since, cursor, more = _CheckStart(set(), set(), set()), mark.cursor, True
        looks = LOOKS
        while more:
            page = await self._store.changes(owner, after=cursor)
            looks = LOOKS if page.cursor != cursor else looks - 1
            if not looks:
                raise StoreBusyError(
                    f"the change feed of {owner!r} is held back by a transaction that is open: "
                    "end it and check again"
                )
            cursor, more = page.cursor, page.more
            for change in page.changes:
                since.sessions.add(change.session)
                if change.kind is ChangeKind.RETIRE:
                    since.retired.add(change.session)
                elif change.message is not None:
                    since.ids.add(change.message)
        return since

    async def _messages(
        self, owner: str, sessions: list[SessionRecord], since: _CheckStart
    ) -> list[str]:
        there = await self._there(owner, sessions, with_orphans=not since.retired)
        have: dict[MessageName, int] = {}
        live = {session.id for session in sessions} - since.retired
        after = None
        while page := await self._index.list_page(owner, EntryFilter(), after):
            after = page[-1]
            for it in page:
                if not since.retired or it.session in live:
                    have[(it.id, it.segment, it.depth, it.created_us)] = it.version
        for fresh in [name for name in {*there, *have} if name[0] in since.ids]:
            there.pop(fresh, None)
            have.pop(fresh, None)
        return _differences(there, have)

    async def _there(
        self, owner: str, sessions: list[SessionRecord], with_orphans: bool
    ) -> dict[MessageName, int]:
        found: dict[MessageName, int] = {}
        for session in sessions:
            async for page in AsyncWalk(self._store, owner, session.id).own():
                found.update(map(_named, page))
            if session.forked_at is not None and with_orphans:
                walk = AsyncWalk(self._store, owner, session.id)
                async for page in walk.orphans(session.forked_at.depth):
                    found.update(map(_named, page))
        return found

    async def _summaries(
        self, owner: str, sessions: list[SessionRecord], since: _CheckStart
    ) -> list[str]:
        names = {session.id for session in sessions} | {*await self._index.list_summarised(owner)}
        names -= since.sessions
        known = await self._index.find_summaries(owner, sorted(names))
        wrong = 0
        for name in names:
            digest = digest_of(await overlays_of(self._store, owner, name))
            wrong += digest != (known[name].digest if name in known else digest_of([]))
        return [f"the summaries of {counted(wrong, 'session')} are not as indexed"] if wrong else []


def _named(message: Message) -> tuple[MessageName, int]:
    name = (message.id, message.segment, message.depth, message.created_us)
    return name, message.version


def _differences(there: dict[MessageName, int], have: dict[MessageName, int]) -> list[str]:
    counts = {
        "messages are not in the search index": len(there.keys() - have.keys()),
        "messages are gone and still indexed": len(have.keys() - there.keys()),
        "messages are indexed as they were before": sum(
            have[name] != version for name, version in there.items() if name in have
        ),
    }
    return [f"{count} {what}" for what, count in counts.items() if count]
