"""Changing the tree: new segments, rows put and replaced, and the sums that follow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ...rules.tree import Place, extend_lineage
from .feed import feed_of
from .lookup import lineage_of, path_tokens
from .state import ChangeRow, MessageRow, Segment, SessionRow, State


def segment_after(state: State, session: SessionRow, parent: Place | None) -> Segment:
    """Give the session's segment that goes on after a position: that of the parent if it may.

    Otherwise a new one, which the state does not know of yet.
    """
    if parent is not None:
        segment = state.segments[parent.segment]
        if segment.home == session.home and segment.last == parent.depth:
            return segment
    above = lineage_of(state, parent.segment) if parent else []
    return Segment(
        number=state.next_number(),
        home=session.home,
        tree=session.tree,
        parent=parent,
        lineage=extend_lineage(parent, above),
    )


def siblings(state: State, segment: Segment) -> list[int]:
    """Give the list of the segments that follow the same position as this one, itself included."""
    if segment.parent is None:
        return state.trees[segment.tree].roots
    parent = state.segments[segment.parent.segment]
    return parent.children.setdefault(segment.parent.depth, [])


def put_rows(
    state: State,
    session: SessionRow,
    segment: Segment,
    rows: Sequence[MessageRow],
    changes: Sequence[ChangeRow],
) -> list[Place]:
    """Put messages at the end of a session's segment, all or none, and their changes in the feed.

    Its tip and sums follow them: what they were is right again after `settle_sum`.
    """
    above = Place(segment.number, segment.last) if segment.rows else segment.parent
    sums = list(accumulate((row.tokens for row in rows), initial=path_tokens(state, above)))[1:]
    depths = range(segment.last + 1, segment.last + 1 + len(rows))
    places = [Place(segment.number, depth) for depth in depths]
    by_id = {(segment.home, row.id): place for row, place in zip(rows, places, strict=True)}
    live = sum(row.body is not None for row in rows)
    feed = feed_of(state, session.owner)
    beside = siblings(state, segment)
    is_new = segment.number not in state.segments
    # Python looks for interrupts where it calls or loops: from here on nothing does either.
    if is_new:
        state.segments[segment.number] = segment
        beside += [segment.number]
        session.segments += [segment.number]
    segment.rows += rows
    segment.path_tokens += sums
    state.places |= by_id
    feed.changes += changes
    session.tip = places[-1]
    session.messages += live
    state.stale |= {session.home}
    return places


def replace_row(state: State, place: Place, row: MessageRow, change: int) -> None:
    """Replace a message where it stands; the sums below it follow."""
    segment = state.segments[place.segment]
    index = place.depth - segment.above - 1
    delta = row.tokens - segment.rows[index].tokens
    segment.rows[index] = row
    segment.edits[place.depth] = change
    if delta:
        _shift_sums(state, place, delta)
        state.stale |= state.trees[segment.tree].homes


def _shift_sums(state: State, place: Place, delta: int) -> None:
    places = [place]
    while places:
        number, depth = places.pop()
        segment = state.segments[number]
        for index in range(depth - segment.above - 1, len(segment.rows)):
            segment.path_tokens[index] += delta
        for at, children in segment.children.items():
            if at >= depth:
                places += [Place(child, at + 1) for child in children]


def cut_segment(state: State, segment: Segment, last: int) -> None:
    """Forget what lies below a depth in a segment that is nobody's, or all of it."""
    kept = max(last - segment.above, 0)
    for row in segment.rows[kept:]:
        del state.places[segment.home, row.id]
    del segment.rows[kept:], segment.path_tokens[kept:]
    segment.edits = {depth: change for depth, change in segment.edits.items() if depth <= last}
    if not kept:
        siblings(state, segment).remove(segment.number)
        del state.segments[segment.number]
