"""Rules 9 to 11 on real stores: compacted at random, a wild conversation loses nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from compaction.histories import in_flight, parted
from tier import often

import sapwood
from sapwood import Message, Session, SessionManager, Summary
from sapwood.compaction import CompactFunction, create_compact_function
from sapwood.errors import CompactionError
from sapwood.model import Compaction, Entry
from sapwood.testing import COUNTS

from .conversations import Talk, Tree

THRESHOLD = 600
BATCHES, LIVES, STEPS = often(1, 4), often(2, 6), 40
TURNS_BEFORE_A_COMPACTION = 2
COMPACTIONS = often(250, 2_000)


class Model:
    """A summariser that writes down what it was asked; some days it is of no use."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.prompts: list[str] = []
        self.mood = "good"

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if self.mood == "failing":
            raise OSError("no model today")
        if self.mood == "blank":
            return " \n"
        length = 100_000 if self.mood == "too long" else self.dice.choice((5, 30, 400))
        # Each summary is like no other, to its end.
        return f"Summary {len(self.prompts)}: {'words ' * (length // 6)}. {self.dice.random()}"


class Life:
    """Sessions of one tree, compacted by one model."""

    def __init__(self, sessions: SessionManager, seed: int) -> None:
        self.sessions = sessions
        self.dice = random.Random(seed)
        self.model = Model(self.dice)
        self.tree = Tree()
        self.seed = seed
        self.forks = 0
        sessions.on_compaction_error(lambda error: None)
        self.talks = [Talk(self.tree, sessions.session(f"first-{seed}"), self.dice)]
        self.done = 0

    def step(self) -> None:
        talk = self.dice.choice(self.talks)
        for _ in range(self.dice.randint(1, TURNS_BEFORE_A_COMPACTION)):
            talk.say()
        self.meddle(talk)
        for _ in range(self.dice.choice((0, 1, 1, 2))):
            self.compact(talk)
        talk.check()
        if self.dice.random() < 0.05:
            talk.check_all_undone(self.sessions)

    def meddle(self, talk: Talk) -> None:
        rare: list[Callable[[], None]] = [talk.branch, talk.change, talk.undo, talk.uncover]
        often: list[Callable[[], None]] = [talk.pin, talk.cover_by_hand]
        for act in (*rare, *often):
            if self.dice.random() < (0.12 if act in rare else 0.25):
                act()
        if self.dice.random() < 0.04:
            self.fork(talk)

    def fork(self, talk: Talk) -> None:
        self.forks += 1
        self.talks.append(talk.fork(self.sessions, f"fork-{self.seed}-{self.forks}"))
        if len(self.talks) > 3:
            self.talks.pop(0)

    def compact(self, talk: Talk) -> None:
        """Compact in one of many ways, and compare what is shown before and after it."""
        way = self.dice.choice(("good",) * 6 + ("digest", "hybrid", "failing", "blank", "too long"))
        self.model.mood = "failing" if way == "hybrid" else way
        chat = talk.chat.compact_with(self.function(way))
        before = chat.history().entries
        self.model.prompts.clear()
        try:
            outcome: Compaction | None = chat.compact()
        except CompactionError:
            assert way == "failing"
            outcome = None
        if outcome is None or outcome.status == "refused":
            assert chat.history().entries == before
        else:
            assert way not in ("failing", "blank", "too long")
            self.check_covered(talk, before, "" if way == "digest" else self.model.prompts[-1])
        chat.compact_with(create_compact_function(strategy="digest"))

    def function(self, way: str) -> CompactFunction:
        strategy: Any = way if way in ("digest", "hybrid") else "summarize"
        return create_compact_function(
            self.model,
            strategy=strategy,
            protect_head=self.dice.choice((0, 1, 3)),
            tail_token_budget=self.dice.choice((0, 100, 300)),
            min_tail_messages=self.dice.choice((0, 2)),
            timeout_s=None,
        )

    def check_covered(self, talk: Talk, before: list[Entry], prompt: str) -> None:
        """Check a new overlay against what was visible when it was made."""
        after = talk.chat.history().entries
        [new] = [
            entry
            for entry in after
            if isinstance(entry, Summary) and entry not in self.sums(before)
        ]
        first = after.index(new)
        last = len(before) - (len(after) - first)
        assert before[:first] == after[:first]
        assert before[last + 1 :] == after[first + 1 :]
        assert parted(before, first, last) == []
        assert all(last < at for at in in_flight(before))
        for summary in self.sums(before[first : last + 1]):
            assert summary.text in prompt or not prompt
        talk.covers(before, first, last)
        pins = talk.chat.pins()
        covered = under(talk.chat, new) if pins else []
        assert new.pinned == [it for it in covered if it.id in pins]
        self.done += 1

    def sums(self, entries: list[Entry]) -> list[Summary]:
        return [entry for entry in entries if isinstance(entry, Summary)]


def under(chat: Session, summary: Summary) -> list[Message]:
    """Give the messages that a summary covers."""
    first, last = summary.overlay.first.depth, summary.overlay.last.depth
    return [it for it in chat.history(overlays=False).messages_only if first <= it.depth <= last]


@pytest.fixture(params=["memory", "sqlite"])
def sessions(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionManager]:
    file = f"sqlite:///{tmp_path}/sessions.db"
    url = "memory://" if request.param == "memory" else file
    with sapwood.open(url, owner="ada", durability="normal") as manager:
        yield manager


@pytest.mark.parametrize("batch", range(BATCHES))
def test_compacted_at_random_a_wild_conversation_loses_nothing(
    sessions: SessionManager, batch: int
) -> None:
    for seed in range(batch * LIVES, (batch + 1) * LIVES):
        life = Life(sessions, seed)
        for _ in range(STEPS):
            life.step()
        for talk in life.talks:
            talk.check_all_undone(sessions)
        COUNTS["compactions of wild conversations"] += life.done
    sessions.finish_deletions()
    assert sessions.store.admin.check() == []


def test_thousands_of_compactions_of_one_session_lose_nothing(sessions: SessionManager) -> None:
    """The session compacts by itself; each time it is compared with what was visible before."""
    life = Life(sessions, 7)
    [talk] = life.talks
    overlays = -1
    while life.done < COMPACTIONS:
        talk.say()
        before = talk.chat.history().entries
        function = life.function("good")
        # Another handle: the one that is talked through does not compact by itself.
        watching = sessions.get(talk.chat.id).compact_with(function).compact_after(THRESHOLD)
        life.model.prompts.clear()
        watching.prepare()
        if life.model.prompts and talk.chat.history().entries != before:
            life.check_covered(talk, before, life.model.prompts[-1])
        if life.done // 200 > overlays:
            overlays = life.done // 200
            talk.check()
    talk.check()
    talk.check_all_undone(sessions)
    COUNTS["compactions of one stored session"] += life.done
