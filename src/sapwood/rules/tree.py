"""Paths through a tree of segments, as ranges; the overlays that one shows; what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import StoreCorruptError

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


def first_missing(runs: Iterable[tuple[int, int]], first: int, last: int) -> int | None:
    """Return the first depth of a range that no run has; None when all of them are there.

    Runs include both their ends and come by depth; they may reach over the ends of the range.
    """
    for begin, end in runs:
        if begin > first:
            break
        first = max(first, end + 1)
    return first if first <= last else None


def gone_over(spans: Sequence[Span], stopped_at: Place, *, backwards: bool) -> list[Span]:
    """Return what a read has gone over, of spans in its order, when it stopped after a position."""
    done: list[Span] = []
    for span in spans:
        if span.segment == stopped_at.segment and span.first <= stopped_at.depth <= span.last:
            end = {"first" if backwards else "last": stopped_at.depth}
            return [*done, span._replace(**end)]
        done.append(span)
    return done


def refuse_missing(runs: Iterable[tuple[int, int]], first: int, last: int, session: str) -> None:
    """Raise `StoreCorruptError` when a depth of a range is missing."""
    depth = first_missing(runs, first, last)
    if depth is not None:
        raise StoreCorruptError(
            f"the message at depth {depth} of session {session!r} is missing from the store: "
            "it can only come back from a backup"
        )


class Cover(NamedTuple):
    """An overlay's range, by the store's own numbers. A larger `number` is newer."""

    number: int
    first: Place
    last: Place
    row: Any = None
    """What the store read of the overlay when it found it, for whoever shows it."""


DeepestCover = Callable[[Span], Cover | None]
"""Find, of the session's overlays that end in a span, the one to show: deepest, widest, newest."""


def resolve_up(
    leaf: Place | None, lineage_of: LineageOf, deepest: DeepestCover
) -> Iterator[Span | Cover]:
    """Yield what a path shows, as spans and covers, from the leaf up to the root."""
    while leaf is not None:
        cover: Cover | None = None
        for span in spans_up(leaf, lineage_of):
            cover = deepest(span)
            if cover is None:
                yield span
                continue
            if cover.last.depth < span.last:
                yield Span(span.segment, cover.last.depth + 1, span.last)
            yield cover
            break
        leaf = place_before(cover.first, lineage_of) if cover else None


def clip(span: Span, after: int, before: int | None) -> Span | None:
    """Cut a span down to the depths between two bounds, both exclusive; None if nothing is left."""
    first = max(span.first, after + 1)
    last = span.last if before is None else min(span.last, before - 1)
    return Span(span.segment, first, last) if first <= last else None
