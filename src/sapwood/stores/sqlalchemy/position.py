"""Positions and lineages as the tables hold them: packed into integers, segment << 24 | depth."""

from __future__ import annotations

import struct

from ...errors import StoreCorruptError
from ...model import Position
from ...rules.tree import Lineage, Place, Span

DEPTH_BITS = 24
MAX_DEPTH = (1 << DEPTH_BITS) - 1


def pack_place(place: Place | None) -> int:
    """Pack a position; the root is 0."""
    return 0 if place is None else place[0] << DEPTH_BITS | place[1]


def place_of(pos: int) -> Place:
    """Unpack a position that is not the root."""
    return Place(pos >> DEPTH_BITS, pos & MAX_DEPTH)


def unpack_place(pos: int) -> Place | None:
    """Unpack a position; 0 is the root."""
    return place_of(pos) if pos else None


def bounds(span: Span) -> tuple[int, int]:
    """Give a span's ends, packed."""
    base = span.segment << DEPTH_BITS
    return base | span.first, base | span.last


def whole_segment(segment: int) -> tuple[int, int]:
    """Give the ends of all that a segment may hold, packed."""
    return segment << DEPTH_BITS, segment << DEPTH_BITS | MAX_DEPTH


def public(pos: int) -> Position:
    """Give a packed position as users see it."""
    return Position(str(pos >> DEPTH_BITS), pos & MAX_DEPTH)


def pack_lineage(lineage: Lineage) -> bytes:
    """Pack a lineage."""
    return struct.pack(f">{len(lineage)}q", *(pack_place(place) for place in lineage))


def unpack_lineage(data: bytes) -> list[Place]:
    """Unpack a lineage; one that is none is `StoreCorruptError`."""
    try:
        packed = struct.unpack(f">{len(data) // 8}q", data)
    except (struct.error, TypeError) as error:
        raise StoreCorruptError(f"a lineage cannot be read: {error}") from error
    return [place_of(pos) for pos in packed]
