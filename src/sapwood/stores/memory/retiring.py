"""Retiring a home: what only it stood on goes, what others stand on stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...model import ChangeKind
from ...rules.tree import spans_up
from .feed import log
from .lookup import lineage_of
from .state import Segment, SessionRow, State
from .writing import cut_segment


def retire(state: State, session: SessionRow, now: int) -> None:
    """Take a session's home out of use; its segments become nobody's and are cut or deleted."""
    log(state, session, ChangeKind.RETIRE, now)
    retire_all(state, [session])


def retire_all(state: State, sessions: Collection[SessionRow]) -> None:
    """Take homes out of use, without telling the feed."""
    for session in sessions:
        del state.homes[session.home]
        state.trees[session.tree].homes.discard(session.home)
        state.stale.discard(session.home)
    for segment in _candidates(state, sessions):
        cut_segment(state, segment, _deepest_used(state, segment))
    for tree in {session.tree for session in sessions}:
        if not state.trees[tree].homes:
            del state.trees[tree]


def _candidates(state: State, sessions: Iterable[SessionRow]) -> list[Segment]:
    """Give the segments that may go: their own, and nobody's above; followers come first."""
    numbers: set[int] = set()
    for session in sessions:
        spans = spans_up(session.fork, lambda segment: lineage_of(state, segment))
        numbers.update(session.segments, (span.segment for span in spans))
    segments = [state.segments[number] for number in sorted(numbers, reverse=True)]
    return [segment for segment in segments if segment.home not in state.homes]


def _deepest_used(state: State, segment: Segment) -> int:
    """Give the deepest position of a segment that a remaining session stands on, or 0."""
    used = [depth for depth, children in segment.children.items() if children]
    for home in state.trees[segment.tree].homes:
        session = state.homes[home]
        stands_on = (place for place in (session.tip, session.fork) if place is not None)
        used += [place.depth for place in stands_on if place.segment == segment.number]
    return max(used, default=0)
