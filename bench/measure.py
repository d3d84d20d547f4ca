"""Taking turns, rounds, percentiles. All times are microseconds."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from statistics import median
from time import perf_counter_ns

ROUNDS = 5

Call = Callable[[], object]
AsyncCall = Callable[[], Awaitable[object]]


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    rank = -int(-share * len(ordered) // 1)
    return ordered[max(rank, 1) - 1]


@dataclass
class Turns:
    """The times of two sides that took turns, by round."""

    ours: list[list[float]] = field(default_factory=list)
    raw: list[list[float]] = field(default_factory=list)

    def ratio(self, share: float = 0.5) -> float:
        """Return the median over the rounds of the ratio of percentiles."""
        return median(
            percentile(ours, share) / percentile(raw, share)
            for ours, raw in zip(self.ours, self.raw, strict=True)
        )


def of_all(rounds: Sequence[Sequence[float]], share: float) -> float:
    """Return the median over the rounds of a percentile."""
    return median(percentile(times, share) for times in rounds)


def calm() -> None:
    """Take what is there out of the collector's sight, so that it does not run in a round."""
    gc.collect()
    gc.freeze()


def time_of(call: Call, inner: int = 1) -> float:
    """Time one call; the mean of `inner` calls when one is too short to be timed."""
    begun = perf_counter_ns()
    for _ in repeat(None, inner):
        call()
    return (perf_counter_ns() - begun) / 1_000 / inner


async def async_time_of(call: AsyncCall) -> float:
    """Time one awaited call."""
    begun = perf_counter_ns()
    await call()
    return (perf_counter_ns() - begun) / 1_000


def _nothing() -> None:
    """Do nothing."""


def take_turns(
    ours: Call,
    raw: Call,
    count: int,
    *,
    inner: int = 1,
    block: int = 1,
    before_round: Call = _nothing,
    before_each: Call = _nothing,
) -> Turns:
    """Time two calls in turns, `count` times in each round; who goes first alternates.

    A turn is `block` calls, each of them timed: a server has a process for each client, which is
    cold after another one's turn.
    """
    turns = Turns()
    for _ in range(ROUNDS):
        before_round()
        calm()
        ours_us: list[float] = []
        raw_us: list[float] = []
        for number in range(-(-count // block)):
            before_each()
            sides = [(ours, ours_us), (raw, raw_us)]
            for call, times in reversed(sides) if number % 2 else sides:
                times += [time_of(call, inner) for _ in range(block)]
        turns.ours.append(ours_us)
        turns.raw.append(raw_us)
    return turns
