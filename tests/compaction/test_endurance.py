"""Compacted again and again: nothing is lost, nothing is parted, and the context stays bounded.

The model is a plain list in which a range is replaced by a summary, as a history shows it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tier import often

from sapwood.compaction import (
    CompactFunction,
    CompactRequest,
    create_compact_function,
    is_valid_input,
    model_messages,
    repair_messages,
)
from sapwood.model import Entry, Message, Summary
from sapwood.testing import COUNTS

from . import histories
from .histories import call, in_flight, parted, result, said, summed_up

THRESHOLD = 600
TAIL = 200


class World:
    """A growing conversation, and what each summary stands for."""

    def __init__(self, function: CompactFunction) -> None:
        self.function = function
        self.entries: list[Entry] = []
        self.numbers: dict[str, int] = {}
        self.covers: dict[str, range] = {}
        self.compactions = 0
        self.largest = 0

    @property
    def tokens(self) -> int:
        return sum(entry.tokens for entry in self.entries)

    def append(self, *entries: Message) -> None:
        self.entries += entries
        for entry in entries:
            self.numbers[entry.id] = len(self.numbers)

    def compact(self) -> bool:
        """Compact once; False when there is nothing worth it."""
        request = CompactRequest(entries=self.entries, tokens=self.tokens)
        plan = self.function.plan(request)
        if plan is None:
            return False
        self._check(plan.range.first, plan.range.last, plan.prompt)
        text = self.function.digest(plan) if not plan.prompt else f"Summary {self.compactions}."
        summary = summed_up(text)
        self.covers[summary.overlay.id] = self._together(plan.entries)
        self.entries = [
            *self.entries[: plan.range.first],
            summary,
            *self.entries[plan.range.last + 1 :],
        ]
        self.compactions += 1
        return True

    def _check(self, first: int, last: int, prompt: str) -> None:
        assert parted(self.entries, first, last) == []
        assert all(last < at for at in in_flight(self.entries))
        for entry in self.entries[first : last + 1]:
            if isinstance(entry, Summary) and prompt:
                assert entry.text in prompt

    def _together(self, entries: list[Entry]) -> range:
        """Give the numbers of all messages that entries stand for; none may be missing between."""
        first = end = self._stands_for(entries[0]).start
        for entry in entries:
            numbers = self._stands_for(entry)
            assert numbers.start == end
            end = numbers.stop
        return range(first, end)

    def _stands_for(self, entry: Entry) -> range:
        if isinstance(entry, Summary):
            return self.covers[entry.overlay.id]
        return range(self.numbers[entry.id], self.numbers[entry.id] + 1)

    def check(self) -> None:
        """Check that every message ever appended is shown or stood for, once and in order."""
        assert self._together(self.entries) == range(len(self.numbers))
        assert sum(isinstance(entry, Summary) for entry in self.entries) <= 1
        assert is_valid_input(repair_messages(model_messages(self.entries)))
        self.largest = max(self.largest, self.tokens)


def turns(random: random.Random) -> Iterator[list[Message]]:
    """Give the turns of an agent that is busy, sloppy and sometimes interrupted."""
    late: list[str] = []
    number = 0
    while True:
        number += 1
        turn = [said(f"question {number}", tokens=random.randint(1, 40))]
        for _ in range(random.choice([0, 0, 1, 3])):
            # Some models use the same ids in every turn.
            ids = [f"call_{at}" for at in range(random.randint(1, 3))]
            if random.random() < 0.5:
                ids = [f"{id}_{number}_{len(turn)}" for id in ids]
            turn.append(call(*ids))
            fate = random.random()
            if fate < 0.1:
                late.append(ids.pop())
            elif fate < 0.15:
                ids.clear()  # interrupted
            turn += [result(*ids)] if random.random() < 0.5 and ids else [result(id) for id in ids]
        if late and random.random() < 0.3:
            turn.append(result(late.pop(0)))
        if random.random() < 0.01:
            turn.append(said("a whole book", tokens=5_000))
        yield [*turn, said(f"answer {number}", "assistant", tokens=random.randint(1, 40))]


def live(world: World, seed: int, compactions: int) -> None:
    conversation = turns(random.Random(seed))
    while world.compactions < compactions:
        world.append(*next(conversation))
        if world.tokens > THRESHOLD:
            world.compact()
            world.check()


def function(strategy: str, **settings: int) -> CompactFunction:
    return create_compact_function(
        lambda prompt: "",
        strategy=strategy,
        tail_token_budget=TAIL,
        **settings,  # type: ignore[arg-type]
    )


def test_thousands_of_compactions_lose_nothing_and_the_context_stays_bounded() -> None:
    world = World(function("summarize"))
    live(world, 7, often(500, 10_000))
    # Head, summary and tail; a book and a call in flight may be in it for a while.
    assert world.largest < 20_000
    assert len(world.entries) < 100
    COUNTS["compactions of one history"] += world.compactions


@pytest.mark.parametrize("protect_head", [0, 1, 3, 6])
@pytest.mark.parametrize("strategy", ["summarize", "digest"])
def test_whatever_the_head_repeated_compaction_goes_on(strategy: str, protect_head: int) -> None:
    world = World(function(strategy, protect_head=protect_head))
    live(world, protect_head, 200)
    assert world.largest < 20_000
    assert len(world.entries) < 100


def test_an_interrupted_call_in_the_head_does_not_end_compaction() -> None:
    world = World(function("summarize"))
    world.append(said("go"), call("lost"))
    live(world, 1, 100)
    assert world.largest < 20_000


def test_a_result_that_is_sent_with_every_turn_does_not_end_compaction() -> None:
    world = World(function("summarize"))
    world.append(said("go"), call("a"))
    for number in range(500):
        world.append(
            said(f"q{number}", tokens=40), result("a"), said("yes", "assistant", tokens=40)
        )
        if world.tokens > THRESHOLD:
            world.compact()
    world.check()
    assert world.compactions > 50
    assert world.tokens < 2 * THRESHOLD


@given(st.lists(histories.entries, min_size=1, max_size=6), st.integers(0, 4), st.integers(0, 300))
def test_any_history_can_be_compacted_until_nothing_is_left_to_cover(
    batches: list[list[Entry]], head: int, tail: int
) -> None:
    world = World(
        create_compact_function(len, protect_head=head, tail_token_budget=tail, summary_tokens=50)
    )
    for batch in batches:
        world.append(*(entry for entry in batch if isinstance(entry, Message)))
        while world.compact():
            world.check()
        COUNTS["histories compacted to the end"] += 1
