"""Work on the store as a whole, and the check of all that must hold in it."""

from __future__ import annotations

from collections.abc import Iterator

from ..._version import __version__
from ...model import Health, Problem
from ...rules.tree import Place, extend_lineage
from ..base._sync.unit import Admin
from .lookup import before, lineage_of, path_tokens, sees
from .state import Segment, SessionRow, State
from .view import context_tokens
from .writing import siblings

SCHEMA_VERSION = 1


class MemoryAdmin(Admin):
    """Work on the store as a whole."""

    def __init__(self, state: State) -> None:
        self._state = state

    def health(self) -> Health:
        return Health(store="memory", version=__version__, writable=True)

    def schema_version(self) -> int:
        return SCHEMA_VERSION

    def check(self) -> list[Problem]:
        problems = [
            problem
            for segment in self._state.segments.values()
            for problem in _check_segment(self._state, segment)
        ]
        if not problems:
            # Sessions are followed along segments, which therefore have to be right first.
            for session in self._state.homes.values():
                problems += _check_session(self._state, session)
        return problems

    def repair(self) -> None:
        state = self._state
        for segment in sorted(state.segments.values(), key=lambda it: it.number):
            above = lineage_of(state, segment.parent.segment) if segment.parent else []
            segment.lineage = extend_lineage(segment.parent, above)
        for session in state.homes.values():
            own = [it for it in state.segments.values() if it.home == session.home]
            session.messages = sum(row.body is not None for it in own for row in it.rows)
            session.context_tokens = context_tokens(state, session, session.tip)
        state.stale.clear()

    def owners(self) -> list[str]:
        state = self._state
        return sorted(
            {
                owner
                for table in (state.sessions, state.documents)
                for owner in table
                if table[owner]
            }
        )


def _check_segment(state: State, segment: Segment) -> Iterator[Problem]:
    where = f"segment {segment.number}"
    parent = segment.parent
    if parent is not None and not _exists(state, parent):
        yield Problem(kind="parent", where=where, what="it follows a position that is not there")
        return
    if segment.number not in siblings(state, segment):
        yield Problem(kind="parent", where=where, what="its parent does not know of it")
    above = lineage_of(state, parent.segment) if parent else []
    if segment.lineage != extend_lineage(parent, above):
        yield Problem(kind="lineage", where=where, what="its lineage is not that of its parent")
    if not segment.rows:
        yield Problem(kind="segment", where=where, what="it is empty")
    yield from _check_rows(state, segment)


def _check_rows(state: State, segment: Segment) -> Iterator[Problem]:
    for depth, row in enumerate(segment.rows, segment.above + 1):
        place = Place(segment.number, depth)
        where = f"message {row.id!r} at {segment.number}.{depth}"
        if state.places.get((segment.home, row.id)) != place:
            yield Problem(kind="id", where=where, what="it is not found by its id")
        if path_tokens(state, place) != path_tokens(state, before(state, place)) + row.tokens:
            yield Problem(kind="path_tokens", where=where, what="the sum from the root is wrong")


def _check_session(state: State, session: SessionRow) -> Iterator[Problem]:
    where = f"session {session.id!r} of {session.owner!r}"
    for name, place in (("tip", session.tip), ("fork", session.fork)):
        if place is not None and not (_exists(state, place) and sees(state, session, place)):
            yield Problem(kind=name, where=where, what=f"its {name} is not there")
            return
    for overlay in session.overlays.values():
        if not all(_exists(state, place) for place in (overlay.first, overlay.last)):
            yield Problem(kind="overlay", where=where, what=f"overlay {overlay.id!r} has no end")
            return
    own = [segment for segment in state.segments.values() if segment.home == session.home]
    if sorted(session.segments) != sorted(segment.number for segment in own):
        yield Problem(kind="segment", where=where, what="its segments are not those of its home")
    live = sum(row.body is not None for segment in own for row in segment.rows)
    if session.messages != live:
        yield Problem(
            kind="messages", where=where, what=f"it counts {session.messages}, not {live}"
        )
    if session.home not in state.stale:
        yield from _check_sum(state, session, where)


def _check_sum(state: State, session: SessionRow, where: str) -> Iterator[Problem]:
    tokens = context_tokens(state, session, session.tip)
    if session.context_tokens != tokens:
        what = f"it counts {session.context_tokens} tokens in its context, not {tokens}"
        yield Problem(kind="context_tokens", where=where, what=what)


def _exists(state: State, place: Place) -> bool:
    segment = state.segments.get(place.segment)
    return segment is not None and segment.above < place.depth <= segment.last
