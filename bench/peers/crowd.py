"""64 appends at once, to one session and to 64, and how many of them landed."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any

from comparison import Comparison, by_rate
from contest import ROUNDS, Contest
from conversation import numbered, text_of
from measure import calm
from peer import Peer, answer_of

TO_ONE = "64 concurrent appends to one session"
TO_MANY = "64 concurrent appends to 64 sessions"
WRITERS = 64


@dataclass
class Crowd:
    """The writers of one side, and what became of what they appended."""

    side: Peer
    sessions: list[str]
    rates: list[float] = field(default_factory=list)
    sent: int = 0
    landed: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    async def append(self, number: int) -> None:
        """Let every writer append one message at once, and count what landed."""
        begin = number * WRITERS
        said = list(islice(numbered(), begin, begin + WRITERS))
        jobs = [
            (self.sessions[writer % len(self.sessions)], self.side.ready(message))
            for writer, message in enumerate(said)
        ]
        seconds, failed = await _at_once(self.side, jobs)
        self.errors.update(type(error).__name__ for error in failed)
        landed = len({text_of(message) for message in said} & await self._stored())
        self.sent += WRITERS
        self.landed += landed
        self.rates.append(landed / seconds)

    async def _stored(self) -> set[str]:
        found: set[str] = set()
        for session in self.sessions:
            found.update(map(self.side.text_of, await answer_of(self.side.load(session))))
        return found

    @property
    def told(self) -> str:
        """Return, in words, how many landed."""
        return f"{self.landed} of {self.sent}"


async def to_one(contest: Contest) -> Comparison:
    """Append from 64 writers to one session."""
    return await _compare(contest, TO_ONE, ["one"])


async def to_many(contest: Contest) -> Comparison:
    """Append from 64 writers, each to its session."""
    return await _compare(contest, TO_MANY, [f"s{number}" for number in range(WRITERS)])


async def _compare(contest: Contest, work: str, sessions: list[str]) -> Comparison:
    ours, peer = Crowd(contest.make_ours(), sessions), Crowd(contest.make(), sessions)
    for name, crowd in (("ours", ours), ("peer", peer)):
        await answer_of(crowd.side.open(contest.file_of(f"{name}-crowd-{len(sessions)}")))
        for session in sessions:
            await answer_of(crowd.side.create(session))
    raw: list[float] = []
    for number in range(ROUNDS):
        for crowd in (ours, peer) if number % 2 else (peer, ours):
            calm()
            await crowd.append(number)
        raw.append(_commits(contest.raw))
    for crowd in (ours, peer):
        await answer_of(crowd.side.close())
    assert ours.landed == ours.sent, f"of ours {ours.told} landed"
    found = {"landed": peer.told, "ours_landed": ours.told, "errors": dict(peer.errors)}
    return contest.row(work, **by_rate(ours.rates, peer.rates, raw), **found)


def _commits(append: Callable[[], None]) -> float:
    """Commit as often from one thread, and give how many that is in a second."""
    begun = perf_counter()
    for _ in range(WRITERS):
        append()
    return WRITERS / (perf_counter() - begun)


async def _at_once(side: Peer, jobs: list[tuple[str, Any]]) -> tuple[float, list[BaseException]]:
    """Append in tasks or in threads; return the seconds, and what was raised."""
    if not side.is_async:
        return _in_threads(side, jobs)
    begun = perf_counter()
    answers = await asyncio.gather(
        *(side.append_among(*job) for job in jobs), return_exceptions=True
    )
    seconds = perf_counter() - begun
    return seconds, [it for it in answers if isinstance(it, BaseException)]


def _in_threads(side: Peer, jobs: list[tuple[str, Any]]) -> tuple[float, list[BaseException]]:
    start = threading.Barrier(len(jobs) + 1)
    failed: list[BaseException] = []

    def work(session: str, message: Any) -> None:
        start.wait()
        try:
            side.append_among(session, message)
        except Exception as error:  # noqa: BLE001 - whatever a package raises is counted
            failed.append(error)

    crew = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in crew:
        thread.start()
    start.wait()
    begun = perf_counter()
    for thread in crew:
        thread.join()
    return perf_counter() - begun, failed
