"""The bugs of those who came before us, by what went wrong."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.compaction import (
    CompactRequest,
    align_backward,
    align_forward,
    build_summary_prompt,
    choose_range,
    create_compact_function,
    find_tail_cut,
    model_messages,
    repair_messages,
    summary_budget,
    truncate_older_messages,
)
from sapwood.model import Entry, FilePart, Message, ToolResultPart

from .histories import call, result, said, shown, summed_up, talk


def request(entries: list[Entry], **fields: Any) -> CompactRequest:
    return CompactRequest(entries=entries, tokens=sum(each.tokens for each in entries), **fields)


def test_l6_all_earlier_summaries_go_into_the_next_not_only_the_first() -> None:
    entries = [*talk(3), summed_up("Part one."), *talk(2), summed_up("Part two."), *talk(4)]
    plan = create_compact_function(len, tail_token_budget=20).plan(request(entries))
    assert plan is not None
    assert "Part one." in plan.prompt
    assert "Part two." in plan.prompt


def test_l6_the_range_begins_where_the_plan_says_and_not_at_an_older_summary() -> None:
    entries = [*talk(4), summed_up("Part one."), *talk(4)]
    function = create_compact_function(len, tail_token_budget=20)
    plan = function.plan(request(entries))
    assert plan is not None
    draft = function.finish(plan, "All.")
    assert draft is not None
    assert draft.first is entries[3]
    assert entries[3].text in plan.prompt


def test_l7_outputs_that_are_objects_are_shown_as_json_and_tools_by_name() -> None:
    entries = [call("a", name="weather"), result("a", output={"sky": ["blue", None]})]
    prompt = build_summary_prompt(entries, target_tokens=100)
    assert 'Result of weather: {"sky":["blue",null]}' in prompt
    assert "[object" not in prompt
    assert "unknown" not in prompt


def test_l7_files_are_in_the_prompt_and_its_size_is_bounded() -> None:
    entries: list[Entry] = [said([FilePart(media_type="image/png", name="map.png")])]
    entries += [said("x" * 100_000) for _ in range(10)]
    prompt = build_summary_prompt(entries, target_tokens=100)
    assert "map.png" in prompt
    assert len(prompt) <= 200_000


def test_l8_a_cut_among_several_results_moves_before_the_call() -> None:
    entries = [said("go"), call("a", "b"), result("a"), result("b"), said("ok")]
    assert align_backward(entries, 3) == 1
    assert align_backward(entries, 2) == 1


def test_l8_results_under_the_assistants_role_are_results_and_not_calls() -> None:
    entries = [said("go"), call("a"), result("a", role="assistant"), said("ok"), said("x")]
    assert align_forward(entries, 3) == 3
    assert align_backward(entries, 3) == 3
    assert align_backward(entries, 2) == 1


def test_l9_repairing_twice_changes_nothing_more() -> None:
    once = repair_messages(shown(said("go"), call("a"), said("hm"), call("b")))
    assert len(once) == 6
    assert repair_messages(once) == once
    assert repair_messages(repair_messages(once)) == once


def test_l9_a_call_that_failed_is_answered_and_gets_no_second_result() -> None:
    messages = shown(call("a"), result("a", output="boom", is_error=True), said("oh"))
    assert repair_messages(messages) == messages


def test_1593_what_starts_a_compaction_and_what_decides_its_range_count_alike() -> None:
    # By the stored tokens all would be tail, so that nothing would ever be shortened.
    entries = talk(20, tokens=10)
    function = create_compact_function(len, tail_token_budget=1_000)
    assert function.plan(request(entries)) is None
    plan = function.plan(request(entries, counter=lambda entry: 500))
    assert plan is not None
    assert plan.range.last == 17
    assert plan.target_tokens == summary_budget(entries[3:18], lambda entry: 500) == 1_500


def test_1500_an_output_that_was_an_object_is_still_one_when_it_is_cut() -> None:
    messages: list[Message] = [
        result("a", output={"rows": [{"id": n, "text": "x" * 100} for n in range(50)]}),
        result("b", output=[1] * 5_000),
        result("c", output="x" * 5_000),
    ]
    kinds = []
    for message in truncate_older_messages(messages, keep_recent=0):
        [part] = message.parts
        assert isinstance(part, ToolResultPart)
        kinds.append(type(part.output))
    assert kinds == [dict, list, str]


def test_1210_the_last_message_stays_though_it_is_larger_than_the_budget() -> None:
    assert find_tail_cut([*talk(4), said("huge", tokens=90_000)], 0, 100, 0) == 4


def test_1210_a_least_number_of_messages_does_not_take_the_token_budget_away() -> None:
    assert find_tail_cut(talk(10, tokens=10), 0, 60, 2) == 4


def test_1210_a_summary_is_not_longer_than_a_small_window() -> None:
    assert summary_budget(talk(10, tokens=100)) == 200


def test_1210_the_last_summary_is_known_after_a_restart_and_given_once() -> None:
    entries = [*talk(3), summed_up("We met in May."), *talk(8)]
    for _ in range(2):
        plan = create_compact_function(len, tail_token_budget=20).plan(request(entries))
        assert plan is not None
        assert plan.prompt.count("We met in May.") == 1


def test_1210_the_prompt_does_not_ask_for_code_where_there_is_none() -> None:
    prompt = build_summary_prompt([said("Plan a trip.")], target_tokens=100)
    assert "Relevant Files" not in prompt
    assert "Invent nothing" in prompt


def test_1210_a_summary_is_shown_under_one_heading_and_asked_for_without() -> None:
    summary = summed_up("We met in May.")
    [shown_summary] = model_messages([summary])
    assert shown_summary.text.count("[Summary of the conversation so far]") == 1
    prompt = build_summary_prompt([summary], target_tokens=100)
    assert "[Summary of the conversation so far]" not in prompt


def test_1210_all_in_the_head_is_nothing_to_compact() -> None:
    assert choose_range(talk(3)) is None


@pytest.mark.parametrize("blank", ["", " \n "])
def test_1210_an_empty_summary_hides_nothing(blank: str) -> None:
    function = create_compact_function(len, tail_token_budget=20)
    plan = function.plan(request(talk(10)))
    assert plan is not None
    assert function.finish(plan, blank) is None
