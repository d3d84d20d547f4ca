"""A threshold is told on the crossing, not on every turn, and again only after a fall."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.rules.threshold import (
    BreakerState,
    Thresholds,
    ThresholdState,
    after_run,
    cross,
    may_run,
)
from sapwood.rules.tokens import MAX_TOKENS

small = st.integers(0, 12)
limits = st.none() | small
armed = ThresholdState()


def fired(sizes: list[int], thresholds: Thresholds) -> tuple[list[int], list[int]]:
    """Look at a context again and again; give the turns at which soft and hard fired."""
    state, soft, hard = armed, [], []
    for turn, tokens in enumerate(sizes):
        state, crossed_soft, crossed_hard = cross(state, tokens, thresholds)
        soft += [turn] * crossed_soft
        hard += [turn] * crossed_hard
    return soft, hard


def expected(sizes: list[int], limit: int | None) -> list[int]:
    """Say the same from the sizes alone: each turn above the limit whose forerunner was not."""
    if limit is None:
        return []
    before = [0, *sizes]
    return [
        turn
        for turn, tokens in enumerate(sizes)
        if tokens > limit and (turn == 0 or before[turn] <= limit)
    ]


@given(st.lists(small, max_size=30), limits, limits)
def test_each_fires_on_the_crossing_and_is_armed_again_below(
    sizes: list[int], soft: int | None, hard: int | None
) -> None:
    thresholds = Thresholds(soft=soft, hard=hard)
    assert fired(sizes, thresholds) == (expected(sizes, soft), expected(sizes, hard))


@given(st.lists(small, min_size=1, max_size=30), limits, limits)
def test_the_state_is_of_the_last_size_alone(
    sizes: list[int], soft: int | None, hard: int | None
) -> None:
    state = armed
    for tokens in sizes:
        state = cross(state, tokens, Thresholds(soft=soft, hard=hard)).state
    assert state.above_soft == (soft is not None and sizes[-1] > soft)
    assert state.above_hard == (hard is not None and sizes[-1] > hard)


@given(st.lists(small, max_size=30), limits)
def test_between_two_crossings_there_was_a_fall(sizes: list[int], hard: int | None) -> None:
    _, turns = fired(sizes, Thresholds(hard=hard))
    for one, other in pairwise(turns):
        assert hard is not None
        assert any(tokens <= hard for tokens in sizes[one:other])


def test_one_jump_crosses_both() -> None:
    crossing = cross(armed, 10, Thresholds(soft=3, hard=5))
    assert (crossing.crossed_soft, crossing.crossed_hard) == (True, True)


def test_at_a_threshold_the_context_is_not_above_it() -> None:
    assert fired([5, 6, 5, 6], Thresholds(hard=5)) == ([], [1, 3])


def test_nought_is_a_threshold() -> None:
    assert fired([0, 0, 1, 2, 0, 3], Thresholds(soft=0, hard=0)) == ([2, 5], [2, 5])


def test_without_thresholds_nothing_fires() -> None:
    assert fired([0, 10**9], Thresholds()) == ([], [])


def test_a_threshold_that_is_lowered_under_the_context_fires() -> None:
    state = cross(armed, 10, Thresholds(hard=20)).state
    assert cross(state, 10, Thresholds(hard=5)).crossed_hard


def test_a_threshold_that_is_lifted_over_the_context_is_armed() -> None:
    state = cross(armed, 10, Thresholds(hard=5)).state
    state = cross(state, 10, Thresholds(hard=20)).state
    assert cross(state, 21, Thresholds(hard=20)).crossed_hard


def test_a_budget_gives_three_and_four_fifths() -> None:
    assert Thresholds.of_budget(None) == Thresholds(soft=None, hard=None)
    assert Thresholds.of_budget(200_000) == Thresholds(soft=120_000, hard=160_000)
    assert Thresholds.of_budget(0) == Thresholds(soft=0, hard=0)


@given(st.integers(0, MAX_TOKENS))
def test_the_soft_one_of_a_budget_is_never_above_the_hard_one(budget: int) -> None:
    found = Thresholds.of_budget(budget)
    assert found.soft is not None
    assert found.hard is not None
    assert found.soft <= found.hard <= budget
    assert found.soft * 5 <= budget * 3 < (found.soft + 1) * 5
    assert found.hard * 5 <= budget * 4 < (found.hard + 1) * 5


@given(st.integers(0, MAX_TOKENS))
def test_a_size_is_the_hard_one_itself(size: int) -> None:
    found = Thresholds.after(size)
    assert found.hard == size
    assert found.soft is not None
    assert found.soft * 4 <= size * 3 < (found.soft + 1) * 4


@pytest.mark.parametrize("bad", [-1, 1.5, True, "5", MAX_TOKENS + 1])
def test_what_is_no_number_of_tokens_is_refused(bad: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Thresholds.after(bad)
    assert caught.value.path == "compact_after"
    with pytest.raises(UsageError) as caught:
        Thresholds.of_budget(bad)
    assert caught.value.path == "budget"


def test_a_size_has_to_be_given() -> None:
    with pytest.raises(UsageError):
        Thresholds.after(None)  # type: ignore[arg-type]


@given(st.booleans(), st.booleans())
def test_the_state_is_kept_as_json(above_soft: bool, above_hard: bool) -> None:
    state = ThresholdState(above_soft=above_soft, above_hard=above_hard)
    assert msgspec.json.decode(msgspec.json.encode(state), type=ThresholdState) == state


@given(st.integers(1, 3_000), st.integers(0, 99), st.integers(0, 50_000))
def test_with_the_breaker_it_is_neither_tried_every_turn_nor_given_up(
    step: int, percent: int, hard: int
) -> None:
    """Grow a context above its hard threshold, by compactions that free so much of it."""
    thresholds, state, breaker = Thresholds(hard=hard), armed, BreakerState()
    tokens, tried = 0, []
    for turn in range(400):
        tokens += step
        crossing = cross(state, tokens, thresholds)
        state = crossing.state
        if not crossing.crossed_hard:
            continue
        state = msgspec.structs.replace(state, above_hard=False)
        if may_run(breaker, tokens):
            tried.append((turn, tokens))
            left = tokens - tokens * percent // 100
            breaker = after_run(breaker, tokens_before=tokens, tokens_after=left)
            tokens = left
    if 400 * step > hard + step:
        assert tried
    last = tried[-1][1] if tried else 0
    assert tokens <= max(hard, last + max(4_000, last * 2 // 5)) + step
    if percent < 10 and step < 500:
        assert all(turn + 1 < later for (turn, _), (later, _) in pairwise(tried))
