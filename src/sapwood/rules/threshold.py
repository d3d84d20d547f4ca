"""When a context has become too large, and whether a compaction may then run by itself."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from . import check
from .tokens import MAX_TOKENS

SOFT_PERCENT = 60
HARD_PERCENT = 80

POOR_PERCENT = 10
"""A run that frees less of the context than this is a poor one."""
FIRST_WAIT_PERCENT = 5
MIN_FIRST_WAIT = 500  # tokens: a twentieth of a small context is soon said
MAX_DOUBLINGS = 3

_Count = Annotated[int, msgspec.Meta(ge=0)]


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

    def within(self, window: int | None) -> Thresholds:
        """Lower the hard one to the window of the model that makes the summaries, if it is smaller.

        The soft one keeps its proportion. A window that is not known lowers nothing.
        """
        check.whole(window, "window", 1, MAX_TOKENS)
        if window is None or self.hard is None or self.hard <= window:
            return self
        return Thresholds.after(window)


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


class BreakerState(msgspec.Struct, frozen=True, kw_only=True):
    """How the compactions of a session went; to be kept as JSON. The default is the beginning.

    `runs` and `freed` count all that were completed and the tokens that they freed; `poor` and
    `failures` those that freed little and those that failed, since the last good one.
    """

    runs: _Count = 0
    poor: _Count = 0
    failures: _Count = 0
    held_until_tokens: _Count = 0
    freed: _Count = 0


def after_run(state: BreakerState, *, tokens_before: int, tokens_after: int) -> BreakerState:
    """Note a compaction that was completed, by the size of the context before and after it."""
    freed = max(0, tokens_before - tokens_after)
    runs, total = state.runs + 1, state.freed + freed
    if freed > 0 and freed * 100 >= tokens_before * POOR_PERCENT:
        return BreakerState(runs=runs, freed=total)
    poor = state.poor + 1
    return BreakerState(
        runs=runs,
        poor=poor,
        failures=state.failures,
        held_until_tokens=_held_until(max(tokens_before, tokens_after), poor + state.failures),
        freed=total,
    )


def after_failure(state: BreakerState, *, tokens: int) -> BreakerState:
    """Note a compaction that failed and left the context as it was, by its size."""
    failures = state.failures + 1
    return msgspec.structs.replace(
        state, failures=failures, held_until_tokens=_held_until(tokens, state.poor + failures)
    )


def may_run(state: BreakerState, tokens: int) -> bool:
    """Whether a compaction may run by itself, with a context of this size."""
    return tokens >= state.held_until_tokens


def _held_until(tokens: int, in_a_row: int) -> int:
    first = max(MIN_FIRST_WAIT, tokens * FIRST_WAIT_PERCENT // 100)
    return tokens + (first << min(in_a_row - 1, MAX_DOUBLINGS))
