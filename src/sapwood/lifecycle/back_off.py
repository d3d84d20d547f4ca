"""How long to wait before a write is tried again that somebody else was faster with."""

from __future__ import annotations

FIRST_PAUSE_S = 0.002
LONGEST_PAUSE_S = 0.25


def pause_s(attempt: int, random: float) -> float:
    """Return a pause that grows with the attempts, from 0; `random` is from 0 to 1."""
    longest: float = min(FIRST_PAUSE_S * 2 ** min(attempt, 20), LONGEST_PAUSE_S)
    return longest * random
