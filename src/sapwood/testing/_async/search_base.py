"""How the suite searches: at once, with an index that lags behind, and after all has settled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ...calls import AsyncAnswer
from ...model import Hit, Hits, Message, NewSession, Part, Search
from ...store import AsyncStore
from ..makers import ADA, say, say_parts

WHEN = ("fresh", "behind", "settled")
"""When a search comes: nothing settled before it, or what stood at `rest`, or all."""


def written(hits: list[Hit]) -> list[str]:
    """Write hits down as `session/message` or `session/<overlay>`."""
    return [
        f"{hit.session}/<{hit.entry.id}>"
        if hit.entry.kind == "overlay"
        else f"{hit.session}/{hit.entry.id}"
        for hit in hits
    ]


class AsyncSearcher:
    """Searches a store, in one of the ways in which what is searched may be indexed."""

    def __init__(self, store: AsyncStore, when: str) -> None:
        self._store = store
        self._when = when

    async def rest(self) -> None:
        """Settle what is there so far, unless all is to be fresh."""
        if self._when != "fresh":
            await self._store.finish_deletions()

    async def hits(
        self,
        text: str,
        session: str | None = None,
        *,
        owner: str = ADA,
        limit: int = 20,
        kind: str | None = "chat",
        cursor: str | None = None,
    ) -> Hits:
        """Search; settle first if that is this way."""
        if self._when == "settled":
            await self._store.finish_deletions()
        search = Search(text=text, session=session, kind=kind, limit=limit, cursor=cursor)
        return await self._store.search(owner, search)

    async def pages(
        self,
        text: str,
        session: str | None = None,
        *,
        limit: int,
        between: Callable[[list[Hit]], AsyncAnswer[object]] | None = None,
    ) -> list[list[Hit]]:
        """Search page after page; between two of them, something may be done."""
        hits = await self.hits(text, session, limit=limit)
        pages = [hits.hits]
        while hits.cursor is not None:
            assert 0 < len(hits.hits) <= limit
            if between is not None:
                await between(hits.hits)
            hits = await self.hits(text, session, limit=limit, cursor=hits.cursor)
            pages.append(hits.hits)
        return pages

    async def __call__(
        self,
        text: str,
        session: str | None = None,
        *,
        owner: str = ADA,
        limit: int = 100,
        kind: str | None = "chat",
    ) -> list[str]:
        """Search, and write down what was found, in alphabetical order."""
        found = await self.hits(text, session, owner=owner, limit=limit, kind=kind)
        assert found.cursor is None
        return sorted(written(found.hits))


class AsyncSearchBase:
    """The fixture `find`: every test of a search is done in all ways. `store` is the contract's."""

    @pytest.fixture(params=WHEN)
    def find(self, store: AsyncStore, request: pytest.FixtureRequest) -> AsyncSearcher:
        """Return a way to search the store."""
        return AsyncSearcher(store, request.param)


async def tell(
    store: AsyncStore, session: str = "s", owner: str = ADA, role: str = "user", **texts: str
) -> list[Message]:
    """Append a message for each id and text; create the session where it is not there."""
    await make(store, session, owner)
    messages = [say(id, text, role=role) for id, text in texts.items()]
    return (await store.append(owner, session, messages)).messages


async def tell_part(store: AsyncStore, id: str, *parts: Part, session: str = "s") -> None:
    """Append a message of parts; create the session where it is not there."""
    await make(store, session)
    await store.append(ADA, session, [say_parts(id, *parts)])


async def make(store: AsyncStore, session: str, owner: str = ADA) -> None:
    """Create a session where it is not there."""
    if await store.find_session(owner, session) is None:
        await store.create_session(owner, NewSession(id=session))
