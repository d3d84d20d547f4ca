"""Walks over paths whose segments are looked up one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...rules.tree import Cover, LineageOf, Place, is_on_path, place_at, spans_up
from .position import MAX_DEPTH, bounds, pack_place, place_of, unpack_place
from .rows import OVERLAY_LAST, Row


def ranges_between(first: Place, last: Place, lineage: LineageOf) -> Iterator[tuple[int, int]]:
    """Iterate over the ranges of a path from one place up to another, packed."""
    for span in spans_up(last, lineage):
        yield bounds(span._replace(first=max(span.first, min(first.depth, span.last))))
        if span.first <= first.depth:
            return


def ending_on_path(overlays: Iterable[Row], leaf: int, lineage: LineageOf) -> list[Row]:
    """Return those of the overlays whose end lies on the path to a leaf."""
    place = unpack_place(leaf)
    return [row for row in overlays if is_on_path(place_of(row[OVERLAY_LAST]), place, lineage)]


def on_path(positions: Iterable[int], leaf: int, lineage: LineageOf) -> set[int]:
    """Return those of the positions that are on the path to a leaf."""
    end = unpack_place(leaf)
    return {pos for pos in positions if is_on_path(place_of(pos), end, lineage)}


def pins_under(pins: Iterable[int], cover: Cover, lineage: LineageOf) -> list[int]:
    """Return those of the pinned positions that an overlay covers, by depth."""
    first, last = cover.first.depth, cover.last.depth
    found = {
        pos
        for pos in pins
        if first <= pos & MAX_DEPTH <= last and is_on_path(place_of(pos), cover.last, lineage)
    }
    return sorted(found, key=lambda pos: pos & MAX_DEPTH)


def covering(
    overlays: Iterable[tuple[str, int, int]], positions: Sequence[int], lineage: LineageOf
) -> list[str]:
    """Return the ids of the overlays, each with its first and last, that cover a position."""
    return [
        id
        for id, first, last in overlays
        if any(
            pos & MAX_DEPTH >= first & MAX_DEPTH
            and is_on_path(place_of(pos), place_of(last), lineage)
            for pos in positions
        )
    ]


def parent_pos(pos: int, lineage: LineageOf) -> int:
    """Return the position that a position follows; 0 for the root."""
    place = place_of(pos)
    above = lineage(place.segment)
    first = above[0].depth + 1 if above else 1
    return pos - 1 if place.depth > first else pack_place(above[0] if above else None)


def inherited_follower(fork: int, pos: int, lineage: LineageOf) -> set[int]:
    """Return the next position on the path to a fork point, if there is one."""
    end, place = unpack_place(fork), unpack_place(pos)
    depth = (pos & MAX_DEPTH) + 1
    if end is None or depth > end.depth:
        return set()
    if place is not None and not is_on_path(place, end, lineage):
        return set()
    found = place_at(depth, end, lineage)
    return {pack_place(found)} if found else set()
