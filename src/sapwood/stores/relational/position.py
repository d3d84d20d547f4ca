"""Positions and lineages as tables hold them: packed into integers, segment << 24 | depth."""

from __future__ import annotations

import struct

from ...errors import StoreCorruptError
from ...model import Position
from ...rules.tree import Lineage, Place, Span

DEPTH_BITS = 24
MAX_DEPTH = (1 << DEPTH_BITS) - 1


def pack_place(place: Place | None) -> int:
    """Return a position packed; the root is 0."""
    return 0 if place is None else place[0] << DEPTH_BITS | place[1]


def place_of(pos: int) -> Place:
    """Return the place at a position that is not the root."""
    return Place(pos >> DEPTH_BITS, pos & MAX_DEPTH)


def unpack_place(pos: int) -> Place | None:
    """Return the place at a position; None at 0, the root."""
    return Place(pos >> DEPTH_BITS, pos & MAX_DEPTH) if pos else None


def bounds(span: Span) -> tuple[int, int]:
    """Return a span's ends, packed."""
    base = span.segment << DEPTH_BITS
    return base | span.first, base | span.last


def span_of(first: int, last: int) -> Span:
    """Return the span between two positions of a segment."""
    return Span(first >> DEPTH_BITS, first & MAX_DEPTH, last & MAX_DEPTH)


def whole_segment(segment: int) -> tuple[int, int]:
    """Return the ends of all that a segment may hold, packed."""
    return segment << DEPTH_BITS, segment << DEPTH_BITS | MAX_DEPTH


def public(pos: int) -> Position:
    """Return a packed position as users see it."""
    return Position(str(pos >> DEPTH_BITS), pos & MAX_DEPTH)


def pack_lineage(lineage: Lineage) -> bytes:
    """Return a lineage packed."""
    return struct.pack(f">{len(lineage)}q", *(pack_place(place) for place in lineage))


def unpack_lineage(data: bytes) -> list[Place]:
    """Return a lineage; what is none is `StoreCorruptError`."""
    try:
        packed = struct.unpack(f">{len(data) // 8}q", data)
    except (struct.error, TypeError) as error:
        raise StoreCorruptError(f"a lineage cannot be read: {error}") from error
    return [Place(pos >> DEPTH_BITS, pos & MAX_DEPTH) for pos in packed]
