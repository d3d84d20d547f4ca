"""Positions: as the rules count with them, as they are stored, and as users see them.

A segment is named by the log that it was made in and its number there, so that no counter is
shared by the sessions of a tree. The rules want one number for both.
"""

from __future__ import annotations

from functools import lru_cache

from ...model import Position
from ...rules.tree import Place

NUMBER_BITS = 32
REMEMBERED = 10_000
"""Segments whose names are not put together again for each message that is read."""
_MASK = (1 << NUMBER_BITS) - 1

StoredPlace = tuple[str, int, int]
"""A position as it is stored: its log (empty for the log that it is stored in), segment, depth."""


def segment_of(log: str, number: int) -> int:
    """Return a segment as the rules know it."""
    return int(log, 16) << NUMBER_BITS | number


@lru_cache(REMEMBERED)
def log_of(segment: int) -> str:
    """Return the log that a segment was made in."""
    return f"{segment >> NUMBER_BITS:030x}"


def number_of(segment: int) -> int:
    """Return a segment's number in its log."""
    return segment & _MASK


@lru_cache(REMEMBERED)
def segment_name(segment: int) -> str:
    """Return a segment's name in the database and for users."""
    return f"{log_of(segment)}.{number_of(segment)}"


def public(place: Place) -> Position:
    """Return a position as users see it."""
    return Position(segment_name(place.segment), place.depth)


def to_wire(place: Place, log: str) -> StoredPlace:
    """Return a position as it is stored in a log."""
    own = log_of(place.segment)
    return "" if own == log else own, number_of(place.segment), place.depth


def from_wire(wire: StoredPlace, log: str) -> Place:
    """Return a stored position as the rules know it."""
    return Place(segment_of(wire[0] or log, wire[1]), wire[2])
