"""A change of how full a context is asks for one thing, and for it once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.budgets import (
    DEFAULT_BUDGET,
    HARD_RATIO,
    SOFT_RATIO,
    budget_from_legacy,
    budget_of,
    ratio_of,
    should_compact,
    should_compact_on_transition,
    should_refresh_memory,
    should_refresh_memory_on_transition,
)
from sapwood.rules.threshold import Thresholds, ThresholdState, cross
from sapwood.rules.tokens import MAX_TOKENS

RATIOS = st.sampled_from([0.0, SOFT_RATIO, HARD_RATIO, 1.0]) | st.floats(0, 1.5)
BUDGETS = st.integers(1, 60) | st.integers(1, MAX_TOKENS)


@given(BUDGETS, st.data())
def test_ratios_and_thresholds_say_the_same(budget: int, data: st.DataObject) -> None:
    near = st.sampled_from([budget * 60 // 100, budget * 80 // 100]).flatmap(
        lambda at: st.integers(max(0, at - 1), at + 1)
    )
    tokens = data.draw(near | st.integers(0, 2 * budget))
    state = cross(ThresholdState(), tokens, Thresholds.of_budget(budget)).state
    ratio = ratio_of(tokens, budget)
    assert should_compact(ratio) == state.above_hard
    assert should_refresh_memory(ratio) == (state.above_soft and not state.above_hard)


@given(st.lists(RATIOS, min_size=2, max_size=12))
def test_each_crossing_is_told_once_and_only_upwards(ratios: list[float]) -> None:
    compacted = refreshed = 0
    for before, now in pairwise([0.0, *ratios]):
        asks = should_compact_on_transition(before, now)
        assert asks == (should_compact(now) and not should_compact(before))
        refreshes = should_refresh_memory_on_transition(before, now)
        assert refreshes == (should_refresh_memory(now) and before <= SOFT_RATIO)
        assert not (asks and refreshes)
        assert before < now or not (asks or refreshes)
        compacted += asks
        refreshed += refreshes
    steps = list(pairwise([0.0, *ratios]))
    assert compacted == sum(before <= HARD_RATIO < now for before, now in steps)
    assert refreshed <= sum(before <= SOFT_RATIO < now for before, now in steps)


def test_a_context_that_falls_back_from_a_compaction_refreshes_nothing() -> None:
    assert should_refresh_memory(0.7)
    assert not should_refresh_memory_on_transition(0.9, 0.7)
    assert should_refresh_memory_on_transition(0.5, 0.7)


def test_a_jump_over_both_is_a_compaction() -> None:
    assert should_compact_on_transition(0.5, 0.9)
    assert not should_refresh_memory_on_transition(0.5, 0.9)


@pytest.mark.parametrize("legacy", [None, 0, 8_000, -1])
def test_legacy_budgets_are_the_default(legacy: int | None) -> None:
    assert budget_from_legacy(legacy) == DEFAULT_BUDGET == 200_000


@given(st.integers(1, MAX_TOKENS).filter(lambda budget: budget != 8_000))
def test_any_other_budget_was_chosen(budget: int) -> None:
    assert budget_from_legacy(budget) == budget


@pytest.mark.parametrize(
    ("budget", "model", "tokens"),
    [
        (None, None, 200_000),
        (None, "nobody-knows", 200_000),
        (None, "gpt-4o", 128_000),
        (5_000, "gpt-4o", 5_000),
        (8_000, None, 8_000),
        (0, "gpt-4o", 0),
    ],
)
def test_a_session_has_its_own_budget_or_its_models(
    budget: int | None, model: str | None, tokens: int
) -> None:
    assert budget_of(budget, model) == tokens


def test_a_budget_of_nothing_is_exceeded_by_anything() -> None:
    assert ratio_of(0, 0) == 0.0
    assert should_compact(ratio_of(1, 0))


@given(BUDGETS, BUDGETS)
def test_a_threshold_is_lowered_to_a_smaller_window_and_never_raised(
    budget: int, window: int
) -> None:
    before = Thresholds.of_budget(budget)
    after = before.within(window)
    assert before.hard is not None
    assert before.soft is not None
    assert after.hard == min(before.hard, window)
    if after.hard == before.hard:
        assert after == before
    else:
        assert after == Thresholds.after(window)
    assert after.soft is not None
    assert after.soft <= min(before.soft, after.hard)


def test_a_window_that_is_not_known_lowers_nothing() -> None:
    assert Thresholds.of_budget(1_000).within(None) == Thresholds.of_budget(1_000)
    assert Thresholds().within(1_000) == Thresholds()
