"""Appending to a short and to a long session, and forking the long one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from comparison import Comparison, by_time
from contest import LONG, ROUNDS, Contest, messages_for, short
from peer import Peer, Work, answer_of
from rounds import Call, take_turns, time_of

APPEND_SHORT = "append at 100 messages"
APPEND_LONG = "append at 10,000 messages"
FORK = "fork at 10,000 messages"


class _Appending:
    """Appends the next message to a session, which may change."""

    def __init__(self, side: Peer, session: str, ready: Iterator[Any]) -> None:
        self._append, self._ready = side.append, ready
        self.session = session

    def __call__(self) -> Work:
        return self._append(self.session, next(self._ready))


async def append_short(contest: Contest) -> Comparison:
    """Append to sessions of 100 messages, another one in each round."""
    count = contest.sizes.short_most
    sides = [
        _Appending(side, short(0), messages_for(side, ROUNDS * count))
        for side in (contest.ours, contest.peer)
    ]

    def next_session(number: int) -> None:
        for side in sides:
            side.session = short(number)

    calls = [*sides, contest.raw]
    times = await take_turns(calls, ROUNDS, count, before_round=next_session)
    return contest.row(APPEND_SHORT, **by_time(*times))


async def append_long(contest: Contest) -> Comparison:
    """Append to the session of 10,000 messages."""
    peer, ours = contest.peer, contest.ours
    [warm] = messages_for(peer, 1)
    rounds, count = contest.rounds(await time_of(lambda: peer.append(LONG, warm)))
    sides = [_Appending(side, LONG, messages_for(side, rounds * count)) for side in (ours, peer)]
    times = await take_turns([*sides, contest.raw], rounds, count)
    return contest.row(APPEND_LONG, **by_time(*times))


class _Forking:
    """Forks the long session, each time under another name."""

    def __init__(self, side: Peer) -> None:
        self._fork, self._number = side.fork, 0

    def __call__(self) -> Work:
        self._number += 1
        return self._fork(LONG, self._number)


async def fork(contest: Contest) -> Comparison:
    """Fork the session of 10,000 messages, against a raw commit of one row."""
    if "fork" in contest.peer.cannot:
        return contest.row(FORK)
    sides: list[Call] = [_Forking(contest.ours), _Forking(contest.peer)]

    async def go_back(_: int) -> None:
        await answer_of(contest.peer.before_fork(LONG))

    await go_back(0)
    rounds, count = contest.rounds(await time_of(sides[1]))
    times = await take_turns([*sides, contest.raw], rounds, count, before_each=go_back)
    return contest.row(FORK, **by_time(*times))
