"""Paths through a tree of segments, as ranges.

A segment is an unbranched run of messages. Its lineage, written once when it is made, lists the
nearest positions on the way to the root: its parent position, the parent position of that
segment, and so on, at most `LINEAGE_CAP` of them; above them the lineage of the last goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

LINEAGE_CAP = 64


class Place(NamedTuple):
    """A position by its store's own segment number."""

    segment: int
    depth: int


class Span(NamedTuple):
    """A run of positions in one segment, both ends included."""

    segment: int
    first: int
    last: int


Lineage = Sequence[Place]
LineageOf = Callable[[int], Lineage]


def extend_lineage(parent: Place | None, parent_lineage: Lineage) -> list[Place]:
    """Return the lineage of a new segment under `parent`."""
    if parent is None:
        return []
    return [parent, *parent_lineage[: LINEAGE_CAP - 1]]


def spans_up(leaf: Place | None, lineage_of: LineageOf) -> Iterator[Span]:
    """Yield the path to a leaf as spans, from the leaf up to the root."""
    if leaf is None:
        return
    segment, last = leaf
    while True:
        lineage = lineage_of(segment)
        for parent, depth in lineage:
            yield Span(segment, depth + 1, last)
            segment, last = parent, depth
        if len(lineage) < LINEAGE_CAP:
            yield Span(segment, 1, last)
            return


def spans_after(depth: int, leaf: Place | None, lineage_of: LineageOf) -> list[Span]:
    """Return the path below a depth to a leaf as spans, from there down."""
    spans: list[Span] = []
    for segment, first, last in spans_up(leaf, lineage_of):
        if last <= depth:
            break
        spans.append(Span(segment, max(first, depth + 1), last))
    return spans[::-1]


def place_before(place: Place, lineage_of: LineageOf) -> Place | None:
    """Return the position that a position follows; None above the root."""
    lineage = lineage_of(place.segment)
    start = lineage[0].depth + 1 if lineage else 1
    if place.depth > start:
        return Place(place.segment, place.depth - 1)
    return lineage[0] if lineage else None


def is_on_path(place: Place, leaf: Place | None, lineage_of: LineageOf) -> bool:
    """Whether a position lies on the path to a leaf."""
    if leaf is None or place.depth > leaf.depth:
        return False
    return place_at(place.depth, leaf, lineage_of) == place


def place_at(depth: int, leaf: Place | None, lineage_of: LineageOf) -> Place | None:
    """Return the position at a depth of the path to a leaf."""
    for span in spans_up(leaf, lineage_of):
        if span.first <= depth <= span.last:
            return Place(span.segment, depth)
    return None
