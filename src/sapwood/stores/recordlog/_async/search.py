"""Searching: all that there is to be found is looked at, or an index beside the log is filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ....errors import NotFoundError, StoreCorruptError
from ....model import EntryRef, Hits, Message, Overlay, Search
from ....rules.query import Query
from ....rules.text import stored_text
from ....rules.tree import Place
from ...base.found import SUMMARY_ROLE, Said, matching_text
from ...base.hit_block import HitBlock, order_of
from ..errors import BehindError
from ..rows import LogRow, message_of
from ..state import LogState
from ..view import LogView
from ..work import log_of, public
from .descendants import descendants, segments_of, whole_segment
from .history import covers_of, overlays_in
from .logs import TRIES, AsyncLogSubject, again
from .rows import find_places_in, rows_at_in, rows_in_all

WantedContent = Mapping[str, tuple[Sequence[str], bool]]
"""By session: the ids of messages, and whether its overlays are wanted."""
SessionContent = tuple[dict[str, Message], list[Overlay]]
"""Messages by their ids, and overlays in force."""


class AsyncLogSearch(AsyncLogSubject):
    """Searches the records of an owner's sessions."""

    async def search(self, owner: str, search: Search, query: Query) -> Hits:
        """Find what matches, the best first; of equals, the newest."""

        async def attempt() -> Hits:
            if search.session is None:
                alive = await self._logs.alive(owner)
                states = [it for it in alive if search.kind in (None, it.profile.kind)]
            else:
                states = [await self._logs.current(owner, search.session)]
            is_scoped = search.session is not None
            said = await self._logs.read_by(states, lambda views: self._said(views, is_scoped))
            block = HitBlock("log", owner, search, query)
            for it in said:
                profile = it.session.profile
                folded = matching_text(query, it, profile.title, profile.tags)
                if folded is not None:
                    block.take(order_of(it), it, folded)
            return block.hits()

        return await again(attempt)

    async def _said(self, views: Sequence[LogView], is_scoped: bool) -> list[Said[LogState]]:
        """Return all that was said, each once: by its home, or the oldest that stands on it."""
        told: dict[Place | int, Said[LogState]] = {}
        # A message is told by its home; only one whose home is gone is told by a fork.
        for is_home in (True, False):
            for view in views:
                await self._messages(view, told, is_home, is_scoped)
        for view in views:
            await self._summaries(view, told)
        return list(told.values())

    async def _messages(
        self, view: LogView, told: dict[Place | int, Said[LogState]], is_home: bool, is_scoped: bool
    ) -> None:
        own = view.own
        # Of those whose home is alive, that tells, unless only this session is asked.
        spans = [it for it in view.spans(own.fork) if is_scoped or not view.home_of(it.segment)]
        if is_home:
            spans = [whole_segment(own, number) for number in segments_of(own)]
        rows = await rows_in_all(self._logs, view, spans) if spans else []
        for row in rows:
            if row.body is None or row.place in told:
                continue
            said = _said_in(row, await self._teller(view, row.place, is_scoped))
            if said is not None:
                told[row.place] = said

    async def _teller(self, view: LogView, place: Place, is_scoped: bool) -> LogState:
        if view.home_of(place.segment) is not None:
            return view.states[log_of(place.segment)]
        return await self._oldest(view, place) if is_scoped else view.own

    async def _oldest(self, view: LogView, place: Place) -> LogState:
        home = view.states[log_of(place.segment)]
        oldest = view.own
        for seen_by in await self._logs.views(await descendants(self._logs, home)):
            other = seen_by.own
            if other.log < oldest.log and seen_by.on_path(place, other.fork):
                oldest = other
        return oldest

    async def _summaries(self, view: LogView, told: dict[Place | int, Said[LogState]]) -> None:
        new = [laid for laid in view.own.overlays if laid.stamp not in told]
        for laid, work in zip(new, await covers_of(self._logs, view.own, new), strict=True):
            told[laid.stamp] = Said(
                view.own,
                view.own.session,
                EntryRef(kind="overlay", id=work.id),
                SUMMARY_ROLE,
                public(laid.last),
                work.created_us,
                work.summary,
            )


def _said_in(row: LogRow, teller: LogState) -> Said[LogState] | None:
    assert row.body is not None
    try:
        text = stored_text(row.body, row.id)
    except StoreCorruptError:
        # Whoever reads the message is told; the others are still to be found.
        return None
    entry = EntryRef(kind="message", id=row.id)
    place = public(row.place)
    return Said(teller, teller.session, entry, row.role, place, row.created_us, text)


class AsyncLogIndexReads(AsyncLogSubject):
    """Reads for an index that is kept beside the log."""

    async def standpoint(self, owner: str, session: str) -> tuple[int, int | None]:
        """Return when a remembered session was made, and how deep its fork point is."""
        state = await self._logs.remembered(owner, session)
        return state.created_us, None if state.fork is None else state.fork.depth

    async def kind(self, owner: str, session: str) -> str | None:
        """Return the kind of a remembered session; None when it is gone."""
        with suppress(NotFoundError):
            return (await self._logs.remembered(owner, session)).profile.kind
        return None

    async def look(
        self, owner: str, wanted: WantedContent, is_remembered: bool
    ) -> dict[str, SessionContent]:
        """Find messages and overlays with a few looks; by what is remembered, or as it is now."""
        for _ in range(TRIES):
            states = await self._states(owner, wanted)
            if states and not is_remembered:
                states = [it for it in await self._logs.catch_up(states) if it.is_alive]
            try:
                return await self._look(states, wanted)
            except BehindError:
                is_remembered = False
        raise BehindError

    async def _states(self, owner: str, sessions: Mapping[str, object]) -> list[LogState]:
        found: list[LogState] = []
        for session in sessions:
            with suppress(NotFoundError):
                found.append(await self._logs.remembered(owner, session))
        return found

    async def _look(
        self, states: Sequence[LogState], wanted: WantedContent
    ) -> dict[str, SessionContent]:
        views = await self._logs.views(states)
        spots = await find_places_in(self._logs, [(it, wanted[it.session][0]) for it in states])
        asked = [(view, list(some.values())) for view, some in zip(views, spots, strict=True)]
        rows = await rows_at_in(self._logs, asked)
        laid = [(it, it.overlays if wanted[it.session][1] else []) for it in states]
        overlays = await overlays_in(self._logs, laid)
        return {
            view.own.session: (
                {row.id: message_of(row, view) for row in some.values() if row.body is not None},
                shown,
            )
            for view, some, shown in zip(views, rows, overlays, strict=True)
        }
