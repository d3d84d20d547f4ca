"""Walks over paths whose segments are looked up one by one."""

from __future__ import annotations

from collections.abc import Iterator

from ...rules.tree import LineageOf, Place, spans_up
from .position import bounds


def ranges_between(first: Place, last: Place, lineage: LineageOf) -> Iterator[tuple[int, int]]:
    """Iterate over the ranges of a path from one place up to another, packed."""
    for span in spans_up(last, lineage):
        yield bounds(span._replace(first=max(span.first, min(first.depth, span.last))))
        if span.first <= first.depth:
            return
