"""Whether a compaction may run by itself, given how the ones before it went.

One that freed little, or that failed, is not tried again until the context has grown: by a
twentieth at first, by twice as much after each further one like it, up to two fifths. Growth is the
only measure, so no clock is read, and as a context grows the next try always comes. A good run
forgives everything. A compaction that somebody asks for is not held; its outcome counts like any
other.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

POOR_PERCENT = 10
"""A run that frees less of the context than this is a poor one."""

FIRST_WAIT_PERCENT = 5
MIN_FIRST_WAIT = 500  # tokens: a twentieth of a small context is soon said
MAX_DOUBLINGS = 3

_Count = Annotated[int, msgspec.Meta(ge=0)]


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
