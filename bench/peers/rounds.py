"""Taking turns, three sides or more, on an event loop; a side may be for threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from types import CoroutineType

from measure import calm
from peer import Work, answer_of

Call = Callable[[], Work]


def nothing(_: int = 0) -> None:
    """Do nothing."""


async def time_of(call: Call) -> float:
    """Time one call, in microseconds."""
    begun = perf_counter_ns()
    work = call()
    if type(work) is CoroutineType:
        await work
    return (perf_counter_ns() - begun) / 1_000


async def take_turns(
    calls: Sequence[Call],
    rounds: int,
    count: int,
    *,
    before_round: Callable[[int], Work] = nothing,
    before_each: Callable[[int], Work] = nothing,
) -> list[list[list[float]]]:
    """Time calls in turns, `count` times in each round; who goes first goes round.

    Gives for each call a list of rounds.
    """
    times: list[list[list[float]]] = [[[] for _ in range(rounds)] for _ in calls]
    for number in range(rounds):
        await answer_of(before_round(number))
        calm()
        for turn in range(count):
            await answer_of(before_each(turn))
            for place in range(len(calls)):
                side = (place + turn) % len(calls)
                times[side][number].append(await time_of(calls[side]))
    return times
