"""Cuts leave calls with their results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.compaction import (
    IN_FLIGHT_REPLIES,
    align_backward,
    align_forward,
    find_tail_cut,
    first_in_flight,
)
from sapwood.errors import UsageError
from sapwood.model import Entry, TextPart, ToolCallPart

from . import histories
from .histories import call, in_flight, parted, result, said, summed_up, talk


def cuts(entries: list[Entry]) -> list[tuple[int, int]]:
    """Give both ways of aligning each cut."""
    return [
        (align_backward(entries, at), align_forward(entries, at)) for at in range(len(entries) + 1)
    ]


def test_where_nothing_is_tied_every_cut_stays() -> None:
    assert cuts(talk(3)) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert cuts([]) == [(0, 0)]


def test_a_call_stays_with_its_result() -> None:
    entries = [said("go"), call("a"), result("a"), said("done", "assistant")]
    assert cuts(entries) == [(0, 0), (1, 1), (1, 3), (3, 3), (4, 4)]


def test_parallel_calls_stay_with_all_results_in_several_messages() -> None:
    entries = [said("go"), call("a", "b", "c"), result("a"), result("b"), result("c"), said("ok")]
    assert cuts(entries)[2:5] == [(1, 5)] * 3


def test_a_result_that_came_after_other_messages_holds_them_all() -> None:
    entries = [call("a"), said("are you there?"), said("yes", "assistant"), result("a"), said("ok")]
    assert cuts(entries)[1:4] == [(0, 4)] * 3


def test_pairs_that_overlap_are_one() -> None:
    entries = [call("a"), call("b"), result("a"), result("b"), said("ok")]
    assert cuts(entries)[1:4] == [(0, 4)] * 3


def test_an_id_used_again_belongs_to_the_nearest_call() -> None:
    entries = [call("a"), result("a"), said("more"), call("a"), result("a")]
    assert cuts(entries) == [(0, 0), (0, 2), (2, 2), (3, 3), (3, 5), (5, 5)]


def test_a_call_and_its_result_in_one_message_tie_nothing() -> None:
    both = said([ToolCallPart(call_id="a", name="look", input={}), *result("a").parts], "assistant")
    assert cuts([said("go"), both, said("ok")]) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_a_result_without_a_call_ties_nothing() -> None:
    assert cuts([result("a"), said("ok")]) == [(0, 0), (1, 1), (2, 2)]


def test_a_call_in_flight_stays_in_the_tail_with_all_that_follows() -> None:
    entries = [*talk(3), call("a", "b"), result("a"), said("and?")]
    assert first_in_flight(entries) == 3
    assert [align_backward(entries, at) for at in range(7)] == [0, 1, 2, 3, 3, 3, 3]
    assert [align_forward(entries, at) for at in range(7)] == [0, 1, 2, 3, 6, 6, 6]


def test_a_call_that_waits_for_approval_stays_though_they_talk_about_it() -> None:
    entries = [*talk(2), call("a"), said("why?"), said("because", "assistant"), said("hm")]
    assert first_in_flight(entries) == 2
    assert align_backward(entries, 6) == 2


def test_a_call_that_was_given_up_holds_nothing_back() -> None:
    after = talk(2 * IN_FLIGHT_REPLIES)
    assert first_in_flight([call("a"), *after[:-1]]) == 0
    assert first_in_flight([call("a"), *after]) is None
    assert cuts([call("a"), *after])[5] == (5, 5)


def test_a_call_that_was_given_up_in_a_loop_without_a_user_holds_nothing_back() -> None:
    loop = [step for at in range(9) for step in (call(f"b{at}"), result(f"b{at}"))]
    as_assistant = [
        step for at in range(9) for step in (call(f"b{at}"), result(f"b{at}", role="assistant"))
    ]
    for steps in (loop, as_assistant):
        assert first_in_flight([call("a"), said("restarted"), *steps[:14]]) == 0
        assert first_in_flight([call("a"), said("restarted"), *steps]) is None


def test_a_call_whose_id_is_used_again_is_no_longer_in_flight() -> None:
    entries = [call("a"), said("again"), call("a"), result("a")]
    assert first_in_flight(entries) is None
    assert align_forward(entries, 1) == 1


def test_a_result_sent_again_and_again_does_not_tie_up_everything() -> None:
    entries: list[Entry] = [call("a"), result("a"), *talk(2 * IN_FLIGHT_REPLIES), result("a")]
    assert align_backward(entries, 10) == 10


def test_pins_tie_nothing() -> None:
    entries = [summed_up("so far", call("a")), said("x"), result("a"), said("y")]
    assert first_in_flight(entries) is None
    assert cuts(entries)[1:3] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("index", [-1, 4, 1.0, True, None])
def test_a_cut_outside_of_the_entries_is_refused(index: object) -> None:
    for align in (align_forward, align_backward):
        with pytest.raises(UsageError, match="index"):
            align(talk(3), index)  # type: ignore[arg-type]


@given(histories.entries, st.data())
def test_aligned_cuts_part_nothing_and_stay_aligned(
    entries: list[Entry], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(entries)))
    back, forward = align_backward(entries, index), align_forward(entries, index)
    assert back <= index <= forward
    assert align_backward(entries, back) == back
    assert align_forward(entries, forward) == forward
    for cut in (back, forward):
        assert parted(entries, 0, cut - 1) == []
    flying = in_flight(entries)
    assert first_in_flight(entries) == min(flying, default=None)
    assert all(back <= at for at in flying)
    assert forward == len(entries) or all(forward <= at for at in flying)


@given(histories.entries, st.data())
def test_a_cut_moves_no_further_than_it_has_to(entries: list[Entry], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(entries)))
    allowed = [
        cut
        for cut in range(len(entries) + 1)
        if not parted(entries, 0, cut - 1) and all(cut <= at for at in in_flight(entries))
    ]
    assert align_backward(entries, index) == max(cut for cut in allowed if cut <= index)
    later = [cut for cut in allowed if cut >= index]
    assert align_forward(entries, index) == min(later, default=len(entries))


def test_the_tail_is_the_larger_one_by_tokens_or_by_count() -> None:
    entries = talk(10, tokens=10)
    assert find_tail_cut(entries, 0, 45, 2) == 6
    assert find_tail_cut(entries, 0, 40, 2) == 6
    assert find_tail_cut(entries, 0, 39, 2) == 7
    assert find_tail_cut(entries, 0, 15, 3) == 7
    assert find_tail_cut(entries, 0, 10_000, 2) == 0
    assert find_tail_cut(entries, 4, 10_000, 2) == 4
    assert find_tail_cut(entries, 4, 0, 20) == 4


def test_the_last_entry_is_kept_however_large() -> None:
    entries = [*talk(3), said("huge", tokens=50_000)]
    assert find_tail_cut(entries, 0, 100, 0) == 3
    assert find_tail_cut(entries, 0, 0, 0) == 3
    assert find_tail_cut([], 0, 100, 2) == 0


def test_the_tail_counts_with_the_counter() -> None:
    entries = talk(10, tokens=10)
    assert find_tail_cut(entries, 0, 45, 2, lambda entry: 20) == 8


def test_the_tail_takes_whole_pairs() -> None:
    entries = [*talk(4), call("a", "b"), result("a"), result("b")]
    assert find_tail_cut(entries, 0, 0, 1) == 4


@given(histories.entries, st.integers(0, 600), st.integers(0, 4), st.data())
def test_the_tail_is_never_empty_and_never_smaller_than_asked(
    entries: list[Entry], budget: int, least: int, data: st.DataObject
) -> None:
    start = align_forward(entries, data.draw(st.integers(0, len(entries))))
    cut = find_tail_cut(entries, start, budget, least)
    tail = entries[cut:]
    assert len(tail) >= min(max(least, 1), len(entries) - start)
    assert parted(entries, 0, cut - 1) == []
    if start == align_backward(entries, start):
        assert cut >= start
    before = entries[max(cut - 1, 0) : cut]
    if cut > start and align_backward(entries, cut - 1) == cut - 1:
        # One more would have been too much.
        assert sum(entry.tokens for entry in before + tail) > budget


def test_texts_between_calls_in_one_message_change_nothing() -> None:
    mixed = said(
        [TextPart(text="I look"), ToolCallPart(call_id="a", name="look", input={})], "assistant"
    )
    assert align_forward([mixed, result("a"), said("x")], 1) == 2
