"""A compaction that does not help waits for the context to grow, and never for ever."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.threshold import BreakerState, after_failure, after_run, may_run
from sapwood.rules.tokens import MAX_TOKENS

sizes = st.integers(0, 2_000) | st.integers(0, MAX_TOKENS)
states = st.builds(
    BreakerState,
    runs=st.integers(0, 10**6),
    poor=st.integers(0, 10**6),
    failures=st.integers(0, 10**6),
    held_until_tokens=sizes,
    freed=sizes,
)
fresh = BreakerState()


def poor_run(state: BreakerState, tokens: int) -> BreakerState:
    return after_run(state, tokens_before=tokens, tokens_after=tokens)


def good_run(state: BreakerState, tokens: int = 10_000) -> BreakerState:
    return after_run(state, tokens_before=tokens, tokens_after=tokens // 2)


def wait_after(tries: int, tokens: int) -> int:
    """Give how far the context has to grow after so many poor tries in a row."""
    state = fresh
    for _ in range(tries):
        state = poor_run(state, tokens)
    return state.held_until_tokens - tokens


@given(sizes)
def test_at_the_beginning_nothing_is_held(tokens: int) -> None:
    assert may_run(fresh, tokens)


@pytest.mark.parametrize(
    ("before", "after", "is_poor"),
    [
        (100_000, 90_000, False),
        (100_000, 90_001, True),
        (100_000, 89_999, False),
        (1_000, 1_000, True),
        (1_000, 2_000, True),
        (1, 0, False),
        (0, 0, True),
        (0, 100, True),
    ],
)
def test_less_than_a_tenth_is_little(before: int, after: int, is_poor: bool) -> None:
    state = after_run(fresh, tokens_before=before, tokens_after=after)
    assert state.poor == is_poor
    assert may_run(state, max(before, after)) is not is_poor


@given(states, sizes, sizes)
def test_after_little_the_context_has_to_grow_beyond_where_it_was(
    state: BreakerState, before: int, after: int
) -> None:
    after = max(after, before - before // 20)
    held = after_run(state, tokens_before=before, tokens_after=after)
    larger = max(before, after)
    assert not may_run(held, before)
    assert not may_run(held, after)
    assert not may_run(held, larger + larger // 20 - 1)
    assert not may_run(held, larger + 499)


@given(states, sizes)
def test_after_a_failure_the_context_has_to_grow_beyond_where_it_was(
    state: BreakerState, tokens: int
) -> None:
    held = after_failure(state, tokens=tokens)
    assert not may_run(held, tokens)
    assert not may_run(held, tokens + tokens // 20 - 1)
    assert not may_run(held, tokens + 499)


@given(states, sizes, st.booleans())
def test_however_bad_it_was_it_is_tried_again_within_two_fifths_more(
    state: BreakerState, tokens: int, fails: bool
) -> None:
    held = after_failure(state, tokens=tokens) if fails else poor_run(state, tokens)
    assert may_run(held, tokens + max(4_000, tokens * 2 // 5))


@given(states, sizes, sizes)
def test_more_tokens_never_hold_what_fewer_let_run(
    state: BreakerState, tokens: int, more: int
) -> None:
    assert not may_run(state, tokens) or may_run(state, tokens + more)


@given(sizes)
def test_the_wait_doubles_up_to_eight_times_the_first(tokens: int) -> None:
    first = wait_after(1, tokens)
    assert first == max(500, tokens // 20)
    assert [wait_after(n, tokens) // first for n in range(1, 8)] == [1, 2, 4, 8, 8, 8, 8]
    assert [wait_after(n, tokens) % first for n in range(1, 8)] == [0] * 7


@given(st.lists(st.booleans(), min_size=1, max_size=10), sizes)
def test_failures_and_poor_runs_lengthen_the_wait_alike(fails: list[bool], tokens: int) -> None:
    state = fresh
    for fail in fails:
        state = after_failure(state, tokens=tokens) if fail else poor_run(state, tokens)
    assert state.held_until_tokens - tokens == wait_after(len(fails), tokens)
    assert (state.failures, state.poor) == (fails.count(True), fails.count(False))


@given(states, st.integers(1, MAX_TOKENS), sizes)
def test_a_good_run_forgives_everything(state: BreakerState, before: int, tokens: int) -> None:
    good = good_run(state, before)
    assert may_run(good, tokens)
    assert (good.poor, good.failures, good.held_until_tokens) == (0, 0, 0)
    again = poor_run(good, tokens)
    assert again.held_until_tokens - tokens == wait_after(1, tokens)


@given(st.lists(st.tuples(sizes, sizes) | sizes, max_size=12))
def test_what_ran_is_counted_with_what_it_freed(outcomes: list[tuple[int, int] | int]) -> None:
    state = fresh
    for outcome in outcomes:
        if isinstance(outcome, int):
            state = after_failure(state, tokens=outcome)
        else:
            state = after_run(state, tokens_before=outcome[0], tokens_after=outcome[1])
    runs = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
    assert state.runs == len(runs)
    assert state.freed == sum(before - after for before, after in runs if after < before)


@given(states)
def test_it_is_kept_as_json(state: BreakerState) -> None:
    assert msgspec.json.decode(msgspec.json.encode(state), type=BreakerState) == state


def test_what_a_later_version_adds_is_passed_over_and_what_is_missing_is_the_beginning() -> None:
    read = msgspec.json.decode(b'{"poor": 2, "mood": "bad"}', type=BreakerState)
    assert read == BreakerState(poor=2)


def test_a_state_that_cannot_be_is_refused_when_it_is_read() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"poor": -1}', type=BreakerState)


@given(st.integers(100, 5_000), st.integers(0, 10_000))
def test_a_context_that_grows_is_tried_ever_more_rarely_and_never_no_more(
    step: int, tokens: int
) -> None:
    """Compaction never helps; the context grows by as much each turn."""
    state, tries, gaps = fresh, [], []
    while len(tries) < 12:
        if may_run(state, tokens):
            gaps.append(tokens - tries[-1] if tries else 0)
            tries.append(tokens)
            state = poor_run(state, tokens)
        tokens += step
    assert all(one <= next_one + step for one, next_one in pairwise(gaps))
    for at, next_at in pairwise(tries):
        assert next_at - at < max(4_000, at * 2 // 5) + step
