"""The settings of a compaction, and what of it is decided without a model."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from sapwood.compaction import (
    CompactDraft,
    CompactionRange,
    CompactPlan,
    CompactRequest,
    build_summary_prompt,
    create_compact_function,
    digest,
)
from sapwood.errors import UsageError
from sapwood.model import Entry, Usage

from .histories import said, summed_up, talk


def request(*entries: Entry, **fields: Any) -> CompactRequest:
    return CompactRequest(entries=[*entries], tokens=sum(each.tokens for each in entries), **fields)


def planned(*entries: Entry, focus: str | None = None, **settings: Any) -> CompactPlan:
    function = create_compact_function(lambda prompt: "short", tail_token_budget=20, **settings)
    plan = function.plan(request(*entries, focus=focus))
    assert plan is not None
    return plan


def test_a_plan_says_what_to_cover_and_what_to_ask() -> None:
    entries = [*talk(3), summed_up("Before."), *talk(6)]
    plan = planned(*entries, focus="money")
    assert plan.range == CompactionRange(first=3, last=7)
    assert plan.entries == entries[3:8]
    assert plan.target_tokens == 100
    assert plan.prompt == build_summary_prompt(entries[3:8], target_tokens=100, focus="money")
    assert plan.focus == "money"


def test_without_anything_worth_it_there_is_no_plan() -> None:
    function = create_compact_function(lambda prompt: "short")
    assert function.plan(request()) is None
    assert function.plan(request(*talk(5))) is None


def test_the_settings_are_used() -> None:
    plan = planned(
        *talk(10),
        protect_head=1,
        min_tail_messages=4,
        summary_tokens=77,
        prompt=lambda it: f"{it.target_tokens}!",
    )
    assert plan.range == CompactionRange(first=1, last=5)
    assert plan.target_tokens == 77
    assert plan.prompt == "77!"
    long = planned(*(said("x" * 5_000, tokens=10) for _ in range(10)), max_prompt_chars=4_000)
    assert len(long.prompt) <= 4_000
    assert planned(said("", tokens=50), *talk(9), head_token_budget=40).range.first == 0


def test_its_own_counter_goes_before_the_sessions() -> None:
    own = create_compact_function(digest, counter=lambda entry: 1, tail_token_budget=4)
    plan = own.plan(request(*talk(10), counter=lambda entry: 1_000))
    assert plan is not None
    assert plan.range.last == 5


def test_a_digest_needs_no_prompt() -> None:
    function = create_compact_function(strategy="digest", tail_token_budget=20)
    plan = function.plan(request(*talk(10)))
    assert plan is not None
    assert plan.prompt == ""
    assert function.digest(plan) == digest(plan.entries, plan.target_tokens)


def test_a_finished_plan_is_a_draft() -> None:
    function = create_compact_function(lambda prompt: "", tail_token_budget=20)
    entries = [*talk(3), summed_up("Before."), *talk(6)]
    plan = function.plan(request(*entries, focus="money"))
    assert plan is not None
    usage = Usage(id="u1", input_tokens=5)
    assert function.finish(plan, "  All of it.\n", usage=usage) == CompactDraft(
        first=entries[3],
        last=entries[7],
        summary="All of it.",
        metadata={
            "strategy": "summarize",
            "fell_back": False,
            "covered": 5,
            "summaries": 1,
            "focus": "money",
        },
        usage=usage,
    )
    fallen = function.finish(plan, "Less.", fell_back="it was asleep")
    assert fallen is not None
    assert fallen.metadata["fell_back"] is True
    assert fallen.metadata["reason"] == "it was asleep"
    msgspec.json.encode(fallen.metadata)


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000"])
def test_a_blank_summary_is_no_draft(blank: str) -> None:
    function = create_compact_function(lambda prompt: "", tail_token_budget=20)
    assert function.finish(planned(*talk(10)), blank) is None


def test_it_is_frozen_and_shows_its_settings() -> None:
    function = create_compact_function(len)
    assert function.summarize is len
    assert (function.protect_head, function.tail_token_budget) == (3, 20_000)
    assert (function.min_tail_messages, function.timeout_s) == (2, 120)
    with pytest.raises(AttributeError):
        function.protect_head = 4  # type: ignore[misc]


@pytest.mark.parametrize("strategy", ["summarize", "hybrid"])
def test_a_summary_needs_somebody_to_write_it(strategy: Any) -> None:
    with pytest.raises(UsageError, match="strategy='digest'") as caught:
        create_compact_function(strategy=strategy)
    assert caught.value.path == "summarize"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("strategy", ["magic", None, 3]),
        ("protect_head", [-1, 1.5, None, True]),
        ("tail_token_budget", [-1, "20000", None]),
        ("min_tail_messages", [-1, None]),
        ("head_token_budget", [-1, None]),
        ("summary_tokens", [0, -1, 1.5]),
        ("max_prompt_chars", [0, None]),
        ("timeout_s", [0, -1, "120", True, float("nan"), float("inf")]),
        ("prompt", ["no place", 3]),
        ("counter", [3]),
        ("summarize", ["text"]),
    ],
)
def test_wrong_settings_are_refused_by_name(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(UsageError, match=name) as caught:
            create_compact_function(**{"summarize": len, name: value})
        assert caught.value.path == name


def test_a_counter_that_fails_does_not_stop_a_plan(caplog: pytest.LogCaptureFixture) -> None:
    def fail(entry: Entry) -> int:
        raise RuntimeError("no tokenizer")

    with caplog.at_level(logging.WARNING):
        assert planned(*talk(10), counter=fail).range == CompactionRange(first=3, last=7)
