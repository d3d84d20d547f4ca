"""Going over what is stored: what a session wrote, and what it inherited from sessions gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from ....errors import NotFoundError, StoreCorruptError
from ....model import Leaf, Message, Read
from ....store._async.contract import AsyncStore

PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
FIRST_LOOK = 64


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
                page, below = await self._page(leaf.id, below, PAGE)
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
        end = max(below - PAGE, 1)
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
