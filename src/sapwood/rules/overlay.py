"""Which overlays a path shows: resolved from the leaf upwards, by seeks.

Of the overlays in force that end at or above a position, the one with the deepest end is shown,
of those the widest, of those the newest; the resolution goes on above its first message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .tree import LineageOf, Place, Span, place_before, spans_up


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
