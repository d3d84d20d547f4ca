"""Which entries the next summary covers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.compaction import CompactionRange, choose_range
from sapwood.errors import UsageError
from sapwood.model import Entry, Summary

from . import histories
from .histories import call, in_flight, parted, result, said, summed_up, talk


def chosen(entries: list[Entry], **settings: Any) -> tuple[int, int] | None:
    found = choose_range(entries, **{"tail_token_budget": 20, **settings})
    return None if found is None else (found.first, found.last)


def test_the_middle_is_covered() -> None:
    assert choose_range(talk(10), tail_token_budget=20) == CompactionRange(first=3, last=7)
    assert chosen(talk(10), protect_head=0, tail_token_budget=0, min_tail_messages=0) == (0, 8)


def test_without_a_middle_there_is_nothing_to_cover() -> None:
    assert chosen([]) is None
    assert chosen(talk(1)) is None
    assert chosen(talk(5)) is None
    assert chosen(talk(3), tail_token_budget=0, min_tail_messages=0) is None
    assert choose_range(talk(100)) is None


def test_the_defaults_are_those_of_the_original() -> None:
    assert choose_range(talk(10, tokens=11_000)) == CompactionRange(first=1, last=7)
    assert choose_range(talk(10, tokens=6_000)) == CompactionRange(first=3, last=6)


def test_a_lone_summary_is_not_summed_up_again() -> None:
    assert chosen([*talk(3), summed_up("so far"), *talk(2)]) is None
    assert chosen([*talk(3), summed_up("a"), summed_up("b"), *talk(2)]) == (3, 4)
    assert chosen([*talk(3), summed_up("a"), *talk(3)]) == (3, 4)


def test_the_head_ends_at_the_first_summary() -> None:
    for before in range(4):
        entries = [*talk(before), summed_up("so far"), *talk(8)]
        assert chosen(entries, protect_head=3) == (before, len(entries) - 3)


def test_a_smaller_head_than_last_time_is_covered_too() -> None:
    entries = [*talk(3), summed_up("so far"), *talk(8)]
    assert chosen(entries, protect_head=1) == (1, 9)


def test_pins_do_not_stop_a_range() -> None:
    entries = [*talk(3), summed_up("so far", said("pin"), call("a")), *talk(8)]
    assert chosen(entries) == (3, 9)


def test_a_head_that_ends_in_a_pair_takes_it_whole() -> None:
    entries = [said("go"), call("a", "b"), result("a"), result("b"), *talk(8)]
    assert chosen(entries, protect_head=2) == (4, 9)


def test_a_head_that_is_too_large_is_covered() -> None:
    entries = [said("a whole book", tokens=90_000), *talk(9)]
    assert chosen(entries) == (0, 7)
    assert chosen(entries, head_token_budget=100_000) == (3, 7)


def test_a_pair_too_large_for_the_head_is_covered_whole() -> None:
    huge = said(result("a").parts, "tool", tokens=90_000)
    assert chosen([said("go"), call("a"), huge, *talk(8)], protect_head=2) == (1, 8)


def test_a_late_result_does_not_draw_the_summary_into_the_head() -> None:
    entries = [*talk(2), call("a"), summed_up("so far"), *talk(4), result("a"), *talk(4)]
    assert chosen(entries) == (2, 10)


def test_one_message_larger_than_the_budget_stays_when_it_is_the_last() -> None:
    entries = [*talk(9), said("huge", tokens=50_000)]
    assert chosen(entries, min_tail_messages=0) == (3, 8)


def test_a_call_in_flight_is_not_covered_wherever_it_is() -> None:
    entries: list[Entry] = [*talk(8), call("a"), *talk(3)]
    assert chosen(entries) == (3, 7)
    assert chosen([call("a"), *talk(9)]) is None


def test_the_range_is_counted_with_the_counter() -> None:
    assert chosen(talk(10), counter=lambda entry: 5) == (3, 5)


@pytest.mark.parametrize(
    "name", ["protect_head", "tail_token_budget", "min_tail_messages", "head_token_budget"]
)
@pytest.mark.parametrize("value", [-1, 1.5, "3", None, True])
def test_wrong_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        choose_range(talk(3), **{name: value})
    assert caught.value.path == name


@given(histories.entries, st.integers(0, 5), st.integers(0, 500), st.integers(0, 4))
def test_no_range_parts_a_pair_covers_a_call_in_flight_or_takes_the_tail(
    entries: list[Entry], head: int, budget: int, least: int
) -> None:
    found = choose_range(
        entries, protect_head=head, tail_token_budget=budget, min_tail_messages=least
    )
    if found is None:
        return
    assert 0 <= found.first <= found.last < len(entries) - max(least, 1) + 1
    assert found.last < len(entries) - 1
    assert parted(entries, found.first, found.last) == []
    assert all(found.last < at for at in in_flight(entries))
    covered = entries[found.first : found.last + 1]
    assert len(covered) > 1 or not isinstance(covered[0], Summary)
    # No summary is left behind before the range: it would never be covered.
    assert not any(isinstance(entry, Summary) for entry in entries[: found.first])
