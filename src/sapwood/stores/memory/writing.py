"""Changing the tree: new segments, rows put and replaced, and the sums that follow."""

from __future__ import annotations

from ...rules.tree import Place, extend_lineage
from .lookup import lineage_of, path_tokens
from .state import MessageRow, Segment, SessionRow, State


def open_segment(state: State, session: SessionRow, parent: Place | None) -> Segment:
    """Give the session's segment that goes on after a position: that of the parent if it may."""
    if parent is not None:
        segment = state.segments[parent.segment]
        if segment.home == session.home and segment.last == parent.depth:
            return segment
    return _new_segment(state, session, parent)


def _new_segment(state: State, session: SessionRow, parent: Place | None) -> Segment:
    above = lineage_of(state, parent.segment) if parent else []
    segment = Segment(
        number=state.next_number(),
        home=session.home,
        tree=session.tree,
        parent=parent,
        lineage=extend_lineage(parent, above),
    )
    state.segments[segment.number] = segment
    siblings(state, segment).append(segment.number)
    session.segments.append(segment.number)
    return segment


def siblings(state: State, segment: Segment) -> list[int]:
    """Give the list of the segments that follow the same position as this one, itself included."""
    if segment.parent is None:
        return state.trees[segment.tree].roots
    parent = state.segments[segment.parent.segment]
    return parent.children.setdefault(segment.parent.depth, [])


def put_row(state: State, segment: Segment, row: MessageRow) -> Place:
    """Put a message at the end of a segment."""
    above = Place(segment.number, segment.last) if segment.rows else segment.parent
    segment.path_tokens.append(path_tokens(state, above) + row.tokens)
    segment.rows.append(row)
    place = Place(segment.number, segment.last)
    state.places[segment.home, row.id] = place
    return place


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
