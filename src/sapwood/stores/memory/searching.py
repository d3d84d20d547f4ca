"""Searching: everything is looked at."""

from __future__ import annotations

from collections.abc import Iterator

from ...model import EntryRef, Hits, Search
from ...rules.codec import decode_body
from ...rules.match import MessageFacts, matches
from ...rules.query import Query
from ...rules.query import terms as terms_of
from ...rules.relevance import is_ranked, scores
from ...rules.text import fold, searchable
from ...rules.tree import Place
from ..base._sync.unit import Searches
from ..base.found import SUMMARY_ROLE, Said, counted, counted_terms, hit_of
from .lookup import get_session, on_path, position, sees
from .state import OverlayRow, Segment, SessionRow, State


class MemorySearches(Searches):
    """Searches the state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def search(self, owner: str, search: Search, query: Query) -> Hits:
        """Find what matches, the best first; of equals, the newest."""
        only = None if search.session is None else get_session(self._state, owner, search.session)
        found = [
            (said, folded)
            for said in self._said(owner, only)
            if matches(query, folded := fold(said.text), _facts(said))
        ]
        found.sort(key=lambda it: -it[0].created_us)
        terms = counted_terms(query)
        points = [1.0] * len(found)
        if is_ranked(query):
            points = scores([counted(terms, folded) for _, folded in found])
        ranked = sorted(zip(points, found, strict=True), key=lambda it: -it[0])
        wanted = terms_of(query)
        return Hits(
            hits=[
                hit_of(said, wanted, score, folded)
                for score, (said, folded) in ranked[: search.limit]
            ],
            more=len(ranked) > search.limit,
        )

    def _said(self, owner: str, only: SessionRow | None) -> Iterator[Said[SessionRow]]:
        mine = self._state.sessions.get(owner, {}).values()
        trees = {session.tree for session in mine} if only is None else {only.tree}
        for segment in self._state.segments.values():
            if segment.tree in trees:
                yield from self._messages(segment, only)
        summaries = {
            overlay.number: (session, overlay)
            for session in reversed(mine if only is None else [only])
            for overlay in session.overlays.values()
        }
        yield from (_summary(session, overlay) for session, overlay in summaries.values())

    def _messages(self, segment: Segment, only: SessionRow | None) -> Iterator[Said[SessionRow]]:
        for depth, row in enumerate(segment.rows, segment.above + 1):
            place = Place(segment.number, depth)
            session = self._told_as(segment, place)
            if row.body is None or session is None:
                continue
            if only is not None and not sees(self._state, only, place):
                continue
            yield Said(
                session,
                session.id,
                EntryRef(kind="message", id=row.id),
                row.role,
                position(place),
                row.created_us,
                searchable(decode_body(row.body, row.id).parts),
            )

    def _told_as(self, segment: Segment, place: Place) -> SessionRow | None:
        """Give the session of a message; when it is gone, the oldest that stands on it."""
        home = self._state.homes.get(segment.home)
        if home is not None:
            return home
        heirs = [self._state.homes[home] for home in self._state.trees[segment.tree].homes]
        heirs = [heir for heir in heirs if on_path(self._state, place, heir.fork)]
        return min(heirs, key=lambda heir: heir.number, default=None)


def _summary(session: SessionRow, overlay: OverlayRow) -> Said[SessionRow]:
    return Said(
        session,
        session.id,
        EntryRef(kind="overlay", id=overlay.id),
        SUMMARY_ROLE,
        position(overlay.last),
        overlay.created_us,
        overlay.summary,
    )


def _facts(said: Said[SessionRow]) -> MessageFacts:
    session = said.session
    return MessageFacts(
        role=said.role, created_us=said.created_us, title=session.title, tags=session.tags
    )
