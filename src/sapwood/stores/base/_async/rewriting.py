"""Going over all that an owner has, to write it anew as it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....calls import AsyncCall
from ....errors import NotFoundError, StoreBusyError
from ....model import (
    DataVersion,
    Document,
    Message,
    Overlay,
    Position,
    Rewritable,
    Rewritten,
    SessionPage,
    SessionQuery,
)
from ....rules.document_checks import PINS
from ....rules.key_range import KeyRange
from ....rules.rewriting import Replacement, RewritePlace, replacement
from ....store._async.admin import Rewrite
from .runner import AsyncRunner

AT_ONCE = 50
"""How much is read, and written in one unit of work: large messages have to find room."""
SESSIONS_IN_A_PAGE = 1_000
TRIES = 200


class _PageToRewrite(NamedTuple):
    """What is to be given to the function, how much was looked at, and where that ended.

    That is None where there is nothing after it.
    """

    things: Sequence[Rewritable]
    seen: int
    last: Position | str | None


class AsyncRewriting:
    """One call: it goes from the owner's documents to the sessions, the oldest first.

    So a fork comes after what it stands on, and a message whose home is deleted meanwhile is given
    by those who then stand on it.
    """

    def __init__(
        self,
        runner: AsyncRunner,
        owner: str,
        function: Rewrite,
        *,
        max_bytes: int,
        has_data: bool,
    ) -> None:
        self._runner = runner
        self._owner = owner
        self._function = function
        self._max_bytes = max_bytes
        self._visited: set[str] = set()
        self._left: list[str] = []
        data = [self._data] if has_data else []
        # What is behind the first is asked of sessions alone.
        self._steps = [self._documents, self._record, self._messages, self._overlays, *data]

    async def run(self, after: str, limit: int) -> Rewritten:
        """Go on from a cursor."""
        place: RewritePlace | None = RewritePlace.read(after, len(self._steps))
        seen = changed = 0
        while place is not None and seen < limit:
            page = await self._page(place, min(AT_ONCE, limit - seen))
            changed += await self._rewrite(place.session, page.things)
            seen += page.seen
            place = await self._following(place, page)
        return Rewritten(seen=seen, changed=changed, cursor=None if place is None else str(place))

    async def _page(self, place: RewritePlace, most: int) -> _PageToRewrite:
        session, step, after = place
        try:
            return await self._steps[step](session, after, most)
        except NotFoundError:
            if after is None:
                return _PageToRewrite([], 0, None)  # the session is gone
            # It was cleared, maybe.
            return await self._page(place._replace(after=None), most)

    async def _following(self, place: RewritePlace, page: _PageToRewrite) -> RewritePlace | None:
        """Return where to go on: in the same list, in the next one, or with the next session."""
        if page.last is not None:
            return place._replace(after=page.last)
        if place.session is not None and place.step + 1 < len(self._steps):
            return RewritePlace(place.session, place.step + 1)
        if place.session is not None:
            self._visited.add(place.session)
        if not self._left:
            # At the end, once more: some may have come meanwhile.
            self._left = await self._unvisited()
        return RewritePlace(self._left.pop()) if self._left else None

    async def _unvisited(self) -> list[str]:
        """List the sessions that are newer than those that were visited, the newest first."""
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = await self._sessions(cursor)
            for record in page.sessions:
                if record.id in self._visited:
                    return found
                found.append(record.id)
            cursor = page.cursor
            if cursor is None:
                return found

    async def _sessions(self, cursor: str | None) -> SessionPage:
        query = SessionQuery(kind=None, order="created", limit=SESSIONS_IN_A_PAGE, cursor=cursor)
        return await self._runner.read(lambda unit: unit.sessions.list_page(self._owner, query))

    # what there is, a page at a time

    async def _documents(
        self, session: str | None, after: Position | str | None, most: int
    ) -> _PageToRewrite:
        asked = KeyRange("", str(after) if after else None, most)
        found = await self._runner.read(
            lambda unit: unit.documents.list_range(self._owner, session, asked, True)
        )
        things = [it for it in found if session is None or it.key != PINS]
        last = found[-1].key if len(found) == most else None
        return _PageToRewrite(things, len(found), last)

    async def _record(
        self, session: str | None, after: Position | str | None, most: int
    ) -> _PageToRewrite:
        assert session is not None
        found = await self._runner.read(lambda unit: unit.sessions.find(self._owner, session))
        return _PageToRewrite([] if found is None else [found], 1, None)

    async def _messages(
        self, session: str | None, after: Position | str | None, most: int
    ) -> _PageToRewrite:
        """Return what a session wrote, or sees of homes that are gone."""
        assert session is not None
        above = after if isinstance(after, Position) else None
        page = await self._runner.read(
            lambda unit: unit.messages.list_page(self._owner, session, above, most)
        )
        things = [it for it in page.messages if it.home in (session, None)]
        last = page.messages[-1].position if page.more else None
        return _PageToRewrite(things, len(page.messages), last)

    async def _overlays(
        self, session: str | None, after: Position | str | None, most: int
    ) -> _PageToRewrite:
        assert session is not None
        found = await self._runner.read(lambda unit: unit.overlays.in_force(self._owner, session))
        ids = [it.id for it in found]
        start = ids.index(after) + 1 if after in ids else 0
        some = found[start : start + most]
        last = some[-1].id if start + most < len(found) else None
        return _PageToRewrite(some, len(some), last)

    async def _data(
        self, session: str | None, after: Position | str | None, most: int
    ) -> _PageToRewrite:
        """Return the versions of what a session wrote, or sees of homes that are gone."""
        assert session is not None
        above = after if isinstance(after, Position) else None
        found = await self._runner.read(
            lambda unit: unit.rewriting.list_data(self._owner, session, above, most)
        )
        last = found[-1].position if len(found) == most else None
        return _PageToRewrite(found, len(found), last)

    # writing

    async def _rewrite(self, session: str | None, things: Sequence[Rewritable]) -> int:
        """Let the function change things; what somebody else changed meanwhile, once more."""
        count, left = 0, things
        for _ in range(TRIES):
            changes = [it for it in [await self._changed(it) for it in left] if it is not None]
            if not changes:
                return count
            lost = await self._written(session, changes)
            count += len(changes) - len(lost)
            found = [await self._found(session, changes[at].given) for at in lost]
            left = [it for it in found if it is not None]
        raise StoreBusyError("others change the same things all the time: try again")

    async def _changed(self, given: Rewritable) -> Replacement | None:
        made = await AsyncCall.now(self._function, given)
        is_same = made is given or (type(made) is type(given) and made == given)
        return None if is_same else replacement(given, made, self._max_bytes)

    async def _written(self, session: str | None, changes: Sequence[Replacement]) -> Sequence[int]:
        """Write changes; return which were not, because what was given is not there any more."""
        try:
            return await self._runner.write(
                lambda unit: unit.rewriting.replace(self._owner, session, changes)
            )
        except NotFoundError:
            return range(len(changes))  # the session is gone

    async def _found(self, session: str | None, given: Rewritable) -> Rewritable | None:
        """Return a thing as it is now; None when it is not there any more."""
        try:
            found = await self._look_for(session, given)
        except NotFoundError:
            return None
        name = "position" if isinstance(given, DataVersion) else "id"
        if isinstance(given, Document):
            name = "key"
        same = [it for it in found if it is not None and getattr(it, name) == getattr(given, name)]
        return same[0] if same else None

    async def _look_for(
        self, session: str | None, given: Rewritable
    ) -> Sequence[Rewritable | None]:
        owner, read = self._owner, self._runner.read
        if isinstance(given, Document):
            key = given.key
            return [await read(lambda unit: unit.documents.find(owner, session, key))]
        assert session is not None
        if isinstance(given, Message):
            id = given.id
            return await read(lambda unit: unit.messages.find(owner, session, [id]))
        if isinstance(given, Overlay):
            return await read(lambda unit: unit.overlays.in_force(owner, session))
        if isinstance(given, DataVersion):
            at = given.position
            return await read(lambda unit: unit.data.versions(owner, session, at, 1))
        return [await read(lambda unit: unit.sessions.find(owner, session))]
