"""What a model is asked for a summary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.compaction import SummaryRequest, build_summary_prompt, summary_budget
from sapwood.errors import UsageError
from sapwood.model import (
    Entry,
    FilePart,
    OtherPart,
    ReasoningPart,
    Summary,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

from . import histories
from .histories import call, result, said, summed_up, talk


def prompt(*entries: Entry, **settings: Any) -> str:
    return build_summary_prompt(entries, **{"target_tokens": 300, **settings})


def test_it_says_what_is_wanted() -> None:
    text = prompt(said("Plan a trip to Lisbon."))
    for heading in ("Topic", "What the user asked for", "Decisions", "Current state"):
        assert f"\n{heading}:" in text
    assert "Open questions:" in text
    assert "Invent nothing" in text
    assert "language of the conversation" in text
    assert "300 tokens" in text
    assert "[user]\nPlan a trip to Lisbon." in text


def test_tools_are_named_and_their_values_are_json() -> None:
    text = prompt(
        call("a", name="weather", input={"city": "Lisboa"}), result("a", output={"sun": True})
    )
    assert 'Calls the tool weather: {"city":"Lisboa"}' in text
    assert 'Result of weather: {"sun":true}' in text


def test_a_failed_call_is_told_as_such_and_a_result_without_call_by_its_id() -> None:
    text = prompt(call("a", name="pay"), result("a", output="no money", is_error=True), result("z"))
    assert 'Error from pay: "no money"' in text
    assert 'Result of call z: "found"' in text


def test_a_result_is_named_after_the_nearest_call() -> None:
    text = prompt(
        call("a", name="one"),
        result("a", output=1),
        call("a", name="two"),
        result("a", output=2),
    )
    assert "Result of one: 1" in text
    assert "Result of two: 2" in text


def test_long_values_are_cut_with_a_mark() -> None:
    text = prompt(call("a", input={"x": "y" * 9000}), max_chars_per_value=100)
    [line] = [line for line in text.splitlines() if line.startswith("Calls the tool")]
    assert len(line) < 100 + len("Calls the tool look: ") + 1
    assert "characters cut" in line


def test_files_are_named_and_reasoning_is_left_out_but_told() -> None:
    message = said(
        [
            FilePart(media_type="image/png", data=b"abc", name="map.png"),
            FilePart(media_type="application/pdf", uri="https://example.org/a.pdf"),
            FilePart(media_type="audio/wav"),
            ReasoningPart(text="a secret thought"),
            OtherPart(value={"type": "vote", "up": 3}),
        ],
    )
    text = prompt(message, said([]))
    assert "File: map.png (image/png, 3 bytes)" in text
    assert "File: https://example.org/a.pdf (application/pdf)" in text
    assert "File: without a name (audio/wav)" in text
    assert "secret" not in text
    assert "reasoning, 16 characters, left out" in text
    assert '{"type":"vote","up":3}' in text
    assert "[user]\n(empty)" in text


def test_all_summaries_are_given_in_full_once() -> None:
    long = "Earlier things. " * 2000
    text = prompt(summed_up("First part."), said("and then"), summed_up(long), max_chars=500)
    assert text.count("First part.") == 1
    assert text.count(long) == 1
    assert text.index("[earlier summary 1]") < text.index("and then")
    assert text.index("and then") < text.index("[earlier summary 2]")


def test_pinned_messages_are_shown_as_pinned() -> None:
    assert "[user, pinned]\nnever forget" in prompt(summed_up("so far", said("never forget")))


def test_it_is_bounded_and_no_message_vanishes() -> None:
    entries = [said(f"begin{at} " + "word " * 5000 + f" end{at}") for at in range(20)]
    text = prompt(*entries, said("short one"), max_chars=20_000)
    assert len(text) <= 20_000
    assert "short one" in text
    for at in range(20):
        assert f"begin{at} " in text
        assert f" end{at}" in text


def test_even_very_many_messages_keep_a_line_each() -> None:
    text = prompt(*(said(f"#{at}# " + "word " * 200) for at in range(2000)), max_chars=5_000)
    assert all(f"#{at}# " in text for at in range(2000))
    assert len(text) < 2000 * 90


def test_a_value_that_json_does_not_know_does_no_harm() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    strange = [ToolCallPart(call_id="a", name="look", input=each) for each in (object(), deep)]
    text = prompt(said(strange, "assistant", tokens=9))
    assert text.count("cannot be shown as JSON") == 2


def test_a_focus_is_asked_for() -> None:
    assert "the budget of the trip" in prompt(said("hello"), focus="the budget of the trip")
    assert prompt(said("hello"), focus="  ") == prompt(said("hello"))


def test_a_template_is_really_used_and_its_other_braces_stay() -> None:
    text = prompt(
        summed_up("Before."),
        said("say {focus} and {conversation}"),
        focus="money",
        template='{"as": "json"} {} {0} {x} {conversation}|{previous}|{focus}|{target_tokens}',
    )
    assert text.startswith('{"as": "json"} {} {0} {x} [earlier summary 1]')
    assert "say {focus} and {conversation}" in text
    assert text.endswith("Before.|money|300")
    assert "Invent nothing" not in text


def test_a_template_without_a_place_for_summaries_or_focus_gets_them_at_its_end() -> None:
    text = prompt(summed_up("ok"), said("ok, money"), focus="money", template="Sum: {conversation}")
    assert text.startswith("Sum: [earlier summary 1]")
    assert text.index("Earlier summary 1 =====\n\nok") > text.index("ok, money")
    assert text.rstrip().endswith("money")


def test_a_function_writes_the_prompt() -> None:
    seen: list[SummaryRequest] = []

    def template(request: SummaryRequest) -> str:
        seen.append(request)
        return "Be brief. " + request.text

    entries = [summed_up("Before."), said("hello")]
    text = prompt(*entries, focus="money", template=template)
    assert text == "Be brief. " + prompt(*entries, focus="money")
    [request] = seen
    assert request.entries == entries
    assert request.previous == ["Before."]
    assert (request.focus, request.target_tokens) == ("money", 300)
    assert "hello" in request.conversation


def test_a_function_that_forgets_the_summaries_gets_them_added() -> None:
    assert "Before." in prompt(summed_up("Before."), template=lambda request: request.conversation)


@pytest.mark.parametrize("template", ["no place for it", 3, lambda _: None, lambda _: " "])
def test_a_wrong_template_is_refused(template: Any) -> None:
    with pytest.raises(UsageError, match="prompt"):
        prompt(said("hello"), template=template)


@pytest.mark.parametrize("name", ["target_tokens", "max_chars_per_value", "max_chars"])
@pytest.mark.parametrize("value", [0, -1, 1.5, None, True])
def test_wrong_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        prompt(said("hello"), **{name: value})


def test_a_focus_that_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="focus"):
        prompt(said("hello"), focus=3)


@given(histories.entries, st.integers(1, 5_000))
def test_every_summary_is_in_the_prompt_in_full_however_small_it_has_to_be(
    entries: list[Entry], max_chars: int
) -> None:
    for template in (
        None,
        "{conversation}",
        "{previous} {conversation}",
        lambda r: "x" + r.conversation,
    ):
        text = prompt(*entries, max_chars=max_chars, template=template)
        for entry in entries:
            if isinstance(entry, Summary):
                assert entry.text in text


@given(histories.entries)
def test_every_message_has_a_block_in_order(entries: list[Entry]) -> None:
    request: list[SummaryRequest] = []
    prompt(*entries, template=lambda given: request.append(given) or "x")
    roles = [
        f"[{message.role}{', pinned' if isinstance(entry, Summary) else ''}]"
        for entry in entries
        for message in (entry.pinned if isinstance(entry, Summary) else [entry])
    ]
    lines = request[0].conversation.splitlines()
    assert [line for line in lines if line in {"[user]", "[assistant]", "[tool]", *roles}] == roles


def test_the_budget_is_a_fifth_within_bounds() -> None:
    assert summary_budget([]) == 100
    assert summary_budget(talk(10, tokens=20)) == 100
    assert summary_budget(talk(10, tokens=500)) == 1_000
    assert summary_budget(talk(10, tokens=50_000)) == 4_000
    assert summary_budget(talk(10, tokens=20), lambda entry: 1_000) == 2_000


def test_texts_and_calls_of_one_message_stay_together() -> None:
    message = said(
        [
            TextPart(text="I look."),
            ToolCallPart(call_id="a", name="look", input=[1]),
            ToolResultPart(call_id="a", output="found"),
        ],
        "assistant",
    )
    assert '[assistant]\nI look.\nCalls the tool look: [1]\nResult of look: "found"' in prompt(
        message
    )
