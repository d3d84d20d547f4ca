"""Messages are made to fit a budget, with as little loss as possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.compaction import (
    Fitted,
    estimate_parts,
    fit_messages,
    is_valid_input,
    model_messages,
    repair_messages,
)
from sapwood.errors import ContextOverflowError, UsageError
from sapwood.model import Entry, ModelMessage, ToolCallPart, ToolResultPart

from . import histories
from .histories import call, result, said, shown, summed_up


def count(message: ModelMessage) -> int:
    return estimate_parts(message.parts)


def fitted(entries: list[Entry], budget: int, **settings: object) -> Fitted:
    found = fit_messages(model_messages(entries), budget, count, **settings)  # type: ignore[arg-type]
    assert found.tokens == sum(count(message) for message in found.messages) <= budget
    assert is_valid_input(found.messages)
    return found


def cost(*entries: Entry) -> int:
    return sum(count(message) for message in repair_messages(model_messages(entries)))


def ids(found: Fitted) -> list[str | None]:
    return [message.id for message in found.messages]


def test_what_fits_is_left_as_it_is() -> None:
    entries: list[Entry] = [
        summed_up("so far"),
        said("go"),
        call("a"),
        result("a"),
        said("x" * 99_000),
    ]
    found = fitted(entries, cost(*entries))
    assert found.messages == model_messages(entries)
    assert (found.left_out, found.shortened) == ([], [])


def test_old_outputs_are_shortened_first_and_only_as_far_as_needed() -> None:
    old = [result(f"c{n}", output="x" * 8_000) for n in range(2)]
    entries: list[Entry] = [
        said("go"), call("c0"), old[0], call("c1"), old[1],
        said("a", "assistant"), said("b"), said("c", "assistant"), said("d"),
    ]  # fmt: skip
    found = fitted(entries, cost(*entries) - 100)
    assert found.shortened == [old[0].id]
    assert found.left_out == []
    found = fitted(entries, cost(*entries) - 3_000)
    assert found.shortened == [old[0].id, old[1].id]
    assert found.left_out == []


def test_then_the_oldest_are_left_out_with_their_pairs_but_not_the_summary() -> None:
    summary = summed_up("We met in May.")
    first, second = said("one " * 100), said("two " * 100)
    entries: list[Entry] = [
        summary, first, call("a"), result("a"), second, said("ok", "assistant"), said("now?"),
    ]  # fmt: skip
    found = fitted(entries, cost(*entries) - 20)
    assert found.left_out == [first.id]
    found = fitted(entries, cost(*entries) - cost(first) - 3)
    assert found.left_out == [first.id, entries[2].id, entries[3].id]  # type: ignore[union-attr]
    assert "May" in found.messages[0].text


def test_an_answer_does_not_come_first_without_its_question() -> None:
    entries: list[Entry] = [
        said("q1"),
        said("a1", "assistant"),
        said("q2"),
        said("a2", "assistant"),
    ]
    found = fitted([*entries, said("q3")], cost(*entries))
    assert [message.text for message in found.messages] == ["q2", "a2", "q3"]


def test_kept_messages_outlive_the_others() -> None:
    pin, other = said("never forget"), said("whatever " * 20)
    entries: list[Entry] = [summed_up("so far", pin), other, said("now?")]
    found = fitted(entries, cost(*entries) - 5, keep=[pin.id])
    assert found.left_out == [other.id]
    without = fitted(entries, cost(*entries) - 5)
    assert without.left_out == [pin.id]


def test_a_kept_call_keeps_its_results() -> None:
    entries: list[Entry] = [call("a"), result("a"), said("x " * 200), said("now?")]
    found = fitted(entries, cost(*entries) - 50, keep=[entries[0].id])  # type: ignore[union-attr]
    assert found.left_out == [entries[2].id]  # type: ignore[union-attr]


def test_a_long_run_of_steps_loses_its_oldest_ones() -> None:
    asked = said("Fix all bugs.")
    steps = [[call(f"c{n}"), result(f"c{n}", output="x" * 400)] for n in range(50)]
    entries: list[Entry] = [asked, *(entry for step in steps for entry in step)]
    found = fitted(entries, 600)
    assert ids(found)[0] == asked.id
    assert ids(found)[-1] == steps[-1][-1].id
    assert found.left_out[0] == steps[0][0].id


def test_no_word_of_the_last_user_message_is_cut() -> None:
    asked = said("Read this: " + "word " * 20_000 + " What does it say?")
    entries: list[Entry] = [summed_up("so far"), said("old"), said("older", "assistant"), asked]
    found = fitted(entries, cost(asked))
    assert (ids(found), found.shortened) == ([asked.id], [])
    with pytest.raises(ContextOverflowError, match=f"need {cost(asked)} tokens"):
        fitted(entries, cost(asked) - 1)


def test_the_last_output_is_shortened_even_when_no_user_asked() -> None:
    seen = result("c1", output="x" * 40_000)
    assert fitted([call("c1"), seen], 500).shortened == [seen.id]


def test_a_summary_goes_only_at_the_very_end() -> None:
    asked = said("word " * 200)
    found = fitted([summed_up("so far " * 3_000), asked], cost(asked))
    assert ids(found) == [asked.id]


def test_results_under_the_users_role_are_not_what_the_user_said() -> None:
    asked = said("Fix all bugs.")
    entries: list[Entry] = [asked]
    for number in range(20):
        entries += [call(f"c{number}"), result(f"c{number}", role="user", output="x" * 400)]
    assert asked.id in ids(fitted(entries, 400))


def test_a_call_under_the_users_role_is_not_what_the_user_asked() -> None:
    asked = said("What is it?", id="q")
    called = said([ToolCallPart(call_id="c1", name="look", input="x" * 4_000)])
    entries = [asked, called, result("c1", output="x" * 4_000)]
    assert "q" in ids(fitted(entries, cost(*entries) // 4))


def test_what_cannot_fit_is_an_error_that_says_how_much_it_needs() -> None:
    with pytest.raises(ContextOverflowError, match=r"need \d+ tokens, and the budget is 10"):
        fitted([said("word " * 5_000)], 10)
    with pytest.raises(UsageError, match="budget"):
        fitted([], -1)


def test_no_messages_fit_into_nothing() -> None:
    assert fitted([], 0).messages == []


def test_broken_pairs_are_repaired_on_the_way() -> None:
    found = fit_messages(shown(result("x"), said("go"), call("a")), 1_000, count)
    assert is_valid_input(found.messages)


@given(histories.entries, st.integers(0, 3_000), st.sets(st.integers(0, 20)))
def test_whatever_fits_is_valid_whole_and_in_order(
    entries: list[Entry], budget: int, kept: set[int]
) -> None:
    before = repair_messages(model_messages(entries))
    keep = {before[at].id for at in kept if at < len(before)} - {None}
    try:
        found = fit_messages(before, budget, count, keep=keep)  # type: ignore[arg-type]
    except ContextOverflowError:
        assert sum(map(count, before)) > budget
        return
    assert is_valid_input(found.messages)
    assert repair_messages(found.messages) == found.messages
    assert found.tokens == sum(map(count, found.messages)) <= budget
    places = [each.id for each in before if each.id is not None]
    left = [id for id in ids(found) if id is not None]
    assert left == [id for id in places if id not in set(found.left_out)]
    unchanged = {each.id: each for each in before}
    for message in found.messages:
        if message.id is not None and message.id not in found.shortened:
            assert message == unchanged[message.id]
    asked = [
        each.id
        for each in before
        if each.role == "user"
        and not all(isinstance(part, ToolCallPart | ToolResultPart) for part in each.parts)
        if each.id is not None
    ]
    assert not asked or asked[-1] in left
