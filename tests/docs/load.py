"""Many users of the service at once: they ask, stop, hang up, and ask again when it was killed."""

from __future__ import annotations

import asyncio
import random
import signal
from contextlib import aclosing
from typing import Any, NamedTuple

import sapwood

from .site import Site


class Asked(NamedTuple):
    """A question, and what became of it for who asked: done, stopped, overtaken, or left."""

    user: str
    id: str
    outcome: str


class Crowd:
    """Users with one session each; the first ones have it open in two tabs."""

    def __init__(self, site: Site, users: int, turns: int, tabs: int, seed: int) -> None:
        self._site = site
        self._users, self._turns, self._tabs = users, turns, tabs
        self._dice = random.Random(seed)
        self.asked: list[Asked] = []
        self.streaming: set[str] = set()
        self.most_streaming = 0
        self.again = 0
        self.kills: list[int] = []

    async def run(self, kills: int) -> None:
        """Let all of them ask, and the server die so often meanwhile."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._kill(kills))
            for n in range(self._users):
                for tab in range(2 if n < self._tabs else 1):
                    group.create_task(self._use(f"user{n}", tab, two=n < self._tabs))

    async def _kill(self, kills: int) -> None:
        for n in range(kills):
            after = self._users * self._turns * (n + self._dice.random()) / (kills + 1)
            # Most of them while answers stream, which is when there is something to lose.
            while len(self.asked) < after or (n % 3 != 2 and len(self.streaming) < 5):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01 * self._dice.random())
            self.kills.append(len(self.streaming))
            await asyncio.to_thread(self._site.end, signal.SIGKILL)
            self._site.start()
            await self._site.is_up()

    async def _use(self, user: str, tab: int, *, two: bool) -> None:
        for n in range(self._turns if not two else (self._turns + 1 - tab) // 2):
            # What two tabs ask is asked to the end: a stop of one would be the other's, too.
            ways = ("read",) if two else ("read",) * 7 + ("stop", "leave")
            await self._ask(user, f"{user}-{tab}-{n}", self._dice.choice(ways))

    async def _ask(self, user: str, id: str, way: str) -> None:
        """Ask until there is an answer, under one id, however often the server dies."""
        while True:
            try:
                outcome = await self._ask_once(user, id, way)
            except (OSError, asyncio.IncompleteReadError):
                outcome = ""
            finally:
                self.streaming.discard(id)
            if outcome:
                self.asked.append(Asked(user, id, outcome))
                return
            self.again += 1
            await asyncio.sleep(0.3)

    async def _ask_once(self, user: str, id: str, way: str) -> str:
        events = self._site.events(user, f"/sessions/{user}/messages", {"id": id, "text": id})
        come = 0
        async with aclosing(events):
            async for event in events:
                if event["type"] == "done":
                    return "done"
                if event["type"] == "error":
                    return told_by(event)
                come += 1
                self.streaming.add(id)
                self.most_streaming = max(self.most_streaming, len(self.streaming))
                if come == 3 and way == "leave":
                    return "left"
                if come == 3 and way == "stop":
                    await self._site.get(user, f"/sessions/{user}/stop", "POST")
        return "done"  # It was answered before.


def told_by(event: dict[str, Any]) -> str:
    if event["code"] == "turn_stopped":
        return "stopped"
    if event["code"] == "stale_tip":
        return "overtaken"  # The server died, and the other tab was faster to ask again.
    if event["code"] == "session_busy":
        return ""
    raise AssertionError(event)


class Found(NamedTuple):
    """What the store has at the end."""

    complete: int
    interrupted: int


async def check(sessions: sapwood.AsyncSessionManager, crowd: Crowd, words: int) -> Found:
    """Check each session: whole turns, one after the other, and nothing lost."""
    outcomes = {it.id: it.outcome for it in crowd.asked}
    states: list[str] = []
    for user in {it.user for it in crowd.asked}:
        chat = await sessions.for_owner(user).get(user)
        found = (await chat.history(overlays=False)).messages_only
        turns: list[str] = []
        for message in found:
            turn = message.extra["turn"]["id"]
            if turns[-1:] != [turn]:
                assert message.role == "user"
                assert message.id == message.text == turn
                turns.append(turn)
            else:
                assert message.role == "assistant"
        assert len(set(turns)) == len(turns)
        assert set(turns) == {it.id for it in crowd.asked if it.user == user}
        for turn in turns:
            answers = [it for it in found[1:] if it.extra["turn"]["id"] == turn and it.id != turn]
            record = await chat.find_turn(turn)
            assert record is not None
            check_answers(turn, answers, record.state, outcomes[turn], words)
            states.append(record.state)
    assert len(states) == len(outcomes) == len(crowd.asked)
    return Found(states.count("complete"), states.count("interrupted"))


def check_answers(
    turn: str, answers: list[sapwood.Message], state: str, outcome: str, words: int
) -> None:
    """Check that the whole answer is whole, and that all others are marked."""
    whole = "".join(f"{turn}/{n} " for n in range(words))
    marks = [it.extra["turn"]["state"] for it in answers]
    assert all(whole.startswith(it.text) for it in answers), turn
    if outcome == "done":
        assert state == "complete", turn
    if state == "complete":
        assert answers[-1].text == whole
        assert marks == ["interrupted"] * (len(marks) - 1) + ["complete"]
        return
    assert state == "interrupted"
    assert outcome in ("stopped", "left", "overtaken"), turn
    # The last one of a turn whose process died says so when the next turn comes.
    assert set(marks) <= {"interrupted", "partial"}, marks
