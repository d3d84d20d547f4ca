"""A whole turn with a scripted model: the package's own loop, with the session that it keeps."""

from __future__ import annotations

from comparison import Comparison, by_time
from contest import ROUNDS, Contest
from peer import Work
from rounds import take_turns, time_of

TURN = "a turn with a scripted model"


async def turn(contest: Contest) -> Comparison | None:
    """Ask a model that answers at once, in sessions that grow alike; raw is two commits."""
    if not contest.peer.runs:
        return None
    sides = (contest.ours, contest.peer)

    def raw() -> None:
        contest.raw()
        contest.raw()

    async def begin(number: int) -> None:
        for side in sides:
            await side.begin_turns(f"turns-{number}")

    def asked(side: int) -> Work:
        return sides[side].answer()

    await begin(ROUNDS)
    first = max([await time_of(lambda side=side: asked(side)) for side in (0, 1)])  # type: ignore[misc]
    rounds, count = contest.rounds(first)
    calls = [lambda: asked(0), lambda: asked(1), raw]
    times = await take_turns(calls, rounds, count, before_round=begin)
    for side in sides:
        assert await side.answered() == count, side.name
    return contest.row(TURN, **by_time(*times))
