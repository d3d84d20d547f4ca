"""How many tokens a session has, how full it is, and what a change of that asks for.

A ratio is how full a context is: 1.0 is all of its budget. Above 0.6 memory is refreshed, above 0.8
the context is compacted, as by `Thresholds`.
"""

from __future__ import annotations

from .threshold import HARD_PERCENT, SOFT_PERCENT
from .windows import window_of

DEFAULT_BUDGET = 200_000
LEGACY_BUDGET = 8_000
"""What older configurations have where nothing was chosen."""

SOFT_RATIO = SOFT_PERCENT / 100
HARD_RATIO = HARD_PERCENT / 100


def budget_from_legacy(budget: int | None) -> int:
    """Return the budget that an older configuration means: none, 0 and 8,000 are the default."""
    return DEFAULT_BUDGET if not budget or budget in (LEGACY_BUDGET,) or budget < 0 else budget


def budget_of(budget: int | None, model: str | None) -> int:
    """Return a session's budget: its own, or else its model's window, or else the default."""
    if budget is not None:
        return budget
    return window_of(model) or DEFAULT_BUDGET


def ratio_of(tokens: int, budget: int) -> float:
    """Return how full a context is; of a budget of nothing, any token is too much."""
    if budget:
        return tokens / budget
    return float("inf") if tokens else 0.0


def should_compact(now: float) -> bool:
    """Whether a context that is this full is to be compacted."""
    return now > HARD_RATIO


def should_compact_on_transition(before: float, now: float) -> bool:
    """Whether a context has just become so full that it is to be compacted."""
    return before <= HARD_RATIO < now


def should_refresh_memory(now: float) -> bool:
    """Whether memory is to be refreshed; a context that is fuller is compacted, which does it."""
    return SOFT_RATIO < now <= HARD_RATIO


def should_refresh_memory_on_transition(before: float, now: float) -> bool:
    """Whether a context has just become so full that memory is to be refreshed.

    Only upwards: one that a compaction, or an undone turn, has made less full is not.
    """
    return before <= SOFT_RATIO < now <= HARD_RATIO
