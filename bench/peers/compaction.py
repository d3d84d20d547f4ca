"""A conversation that is compacted again and again: what it takes, and what it writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bytes_written import append_all, sizes_of
from comparison import Comparison, by_size, by_time
from contest import Contest, messages_for
from peer import Peer, Work
from rounds import take_turns

TIME = "400 messages, compacted every 50"
BYTES = "bytes written for 400 messages, compacted every 50"
EVERY = 50
ROUNDS = 3


class _Talking:
    """Has a whole conversation, each time in another session."""

    def __init__(self, side: Peer, count: int) -> None:
        self.side, self.count = side, count

    async def begin(self, number: int) -> None:
        """Begin a session, and make the messages ready."""
        self.session = f"compacted-{number}"
        self._ready: Iterator[Any] = messages_for(self.side, self.count)
        await self.side.begin_compactable(self.session)

    def __call__(self) -> Work:
        return append_all(self.side, self.session, self._ready, EVERY)

    async def verify(self) -> None:
        """See that a model would be shown less than what was said."""
        assert 0 < await self.side.shown(self.session) < self.count, self.side.name


async def time_taken(contest: Contest) -> Comparison | None:
    """Time whole conversations; raw is one commit for each message and each summary."""
    if not contest.peer.compacts:
        return None
    count = contest.sizes.compacted
    sides = [_Talking(side, count) for side in (contest.ours, contest.peer)]

    async def begin(number: int) -> None:
        for side in sides:
            await side.begin(number)

    def raw() -> None:
        for _ in range(count + count // EVERY):
            contest.raw()

    times = await take_turns([*sides, raw], ROUNDS, 1, before_round=begin)
    for side in sides:
        await side.verify()
    return contest.row(TIME, **by_time(*times))


async def bytes_written(contest: Contest) -> Comparison | None:
    """Count what such a conversation writes, from its first message until the file is closed."""
    if not contest.peer.compacts:
        return None
    found = sizes_of(contest, contest.sizes.compacted, EVERY)
    return contest.row(BYTES, **by_size(**found))
