"""Positions as PostgreSQL stores them: packed into integers, segment << 24 | depth."""

from __future__ import annotations

from ...model import Position
from ...rules.tree import Place, Span

DEPTH_BITS = 24
MAX_DEPTH = (1 << DEPTH_BITS) - 1


def place_of(pos: int) -> Place:
    """Unpack a position that is not the root."""
    return Place(pos >> DEPTH_BITS, pos & MAX_DEPTH)


def pack(place: Place) -> int:
    """Pack a position."""
    return place.segment << DEPTH_BITS | place.depth


def bounds(span: Span) -> tuple[int, int]:
    """Give a span's ends, packed."""
    base = span.segment << DEPTH_BITS
    return base | span.first, base | span.last


def span_of(first: int, last: int) -> Span:
    """Unpack a span's ends."""
    return Span(first >> DEPTH_BITS, first & MAX_DEPTH, last & MAX_DEPTH)


def public(pos: int) -> Position:
    """Give a packed position as users see it."""
    return Position(str(pos >> DEPTH_BITS), pos & MAX_DEPTH)
