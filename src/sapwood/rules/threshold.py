"""When a context has become too large: told on the crossing, and not on every turn.

A threshold is crossed when the context has more tokens than it, and is armed again when it has not.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from . import check
from .tokens import MAX_TOKENS

SOFT_PERCENT = 60
HARD_PERCENT = 80


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of a context in tokens, or None for no such threshold; 0 is one like any other.

    Above the soft one memory is refreshed, above the hard one the context is compacted.
    """

    soft: int | None = None
    hard: int | None = None

    @classmethod
    def of_budget(cls, budget: int | None) -> Thresholds:
        """Take 0.6 and 0.8 of a budget; without one there are none."""
        if budget is None:
            return cls()
        check.count(budget, "budget", 0, MAX_TOKENS)
        return cls(soft=budget * SOFT_PERCENT // 100, hard=budget * HARD_PERCENT // 100)

    @classmethod
    def after(cls, compact_after: int) -> Thresholds:
        """Take a size for the hard one; the soft one is in the same proportion as of a budget."""
        check.count(compact_after, "compact_after", 0, MAX_TOKENS)
        return cls(soft=compact_after * SOFT_PERCENT // HARD_PERCENT, hard=compact_after)


class ThresholdState(msgspec.Struct, frozen=True, kw_only=True):
    """Which thresholds the context was above when it was last looked at; kept as JSON."""

    above_soft: bool = False
    above_hard: bool = False


class Crossing(NamedTuple):
    """The state to keep, and which thresholds were crossed just now, upwards."""

    state: ThresholdState
    crossed_soft: bool
    crossed_hard: bool


def cross(state: ThresholdState, tokens: int, thresholds: Thresholds) -> Crossing:
    """Compare a context's size with the thresholds; a jump over both crosses both."""
    now = ThresholdState(
        above_soft=_is_above(tokens, thresholds.soft),
        above_hard=_is_above(tokens, thresholds.hard),
    )
    return Crossing(
        now,
        crossed_soft=now.above_soft and not state.above_soft,
        crossed_hard=now.above_hard and not state.above_hard,
    )


def _is_above(tokens: int, threshold: int | None) -> bool:
    return threshold is not None and tokens > threshold
