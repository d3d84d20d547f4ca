"""A summary is asked for, and becomes a draft; whatever goes wrong is told."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from sapwood.compaction import (
    CompactDraft,
    CompactRequest,
    SummaryAnswer,
    create_compact_function,
    digest,
)
from sapwood.compaction._async.drafts import draft_compaction
from sapwood.errors import CompactionError, StoreUnavailableError, UsageError
from sapwood.model import Entry, Usage

from ..histories import call, result, said, summed_up, talk

USAGE = Usage(id="u1", model="small", input_tokens=900, output_tokens=40)


def request(*entries: Entry) -> CompactRequest:
    entries = entries or (*talk(3), summed_up("Before."), *talk(6))
    return CompactRequest(entries=[*entries], tokens=sum(entry.tokens for entry in entries))


def function(summarize: Any, **settings: Any) -> Any:
    return create_compact_function(summarize, tail_token_budget=20, **settings)


def fail(prompt: str) -> str:
    raise ConnectionError("the model is asleep")


def hang(prompt: str) -> str:
    threading.Event().wait()
    return "never"


async def drafted(function: Any, given: CompactRequest) -> CompactDraft:
    draft = await draft_compaction(function, given)
    assert draft is not None
    return draft


async def test_the_summariser_gets_the_prompt_and_its_text_becomes_the_summary() -> None:
    prompts: list[str] = []

    def summarize(prompt: str) -> str:
        prompts.append(prompt)
        return "All of it."

    given = request()
    draft = await drafted(function(summarize), given)
    assert (draft.first, draft.last) == (given.entries[3], given.entries[7])
    assert draft.summary == "All of it."
    assert draft.usage is None
    [prompt] = prompts
    assert "Before." in prompt


async def test_an_answer_with_usage_is_counted() -> None:
    draft = await drafted(function(lambda _: SummaryAnswer(text="All.", usage=USAGE)), request())
    assert (draft.summary, draft.usage) == ("All.", USAGE)


async def test_a_usage_of_another_kind_is_not_counted() -> None:
    class Answer:
        text = "All."
        usage = {"tokens": 3}

    draft = await drafted(function(lambda _: Answer()), request())
    assert (draft.summary, draft.usage) == ("All.", None)


async def test_where_nothing_is_worth_it_nobody_is_asked() -> None:
    assert await draft_compaction(function(fail), request(said("hello"))) is None


async def test_a_blank_summary_is_no_draft() -> None:
    assert await draft_compaction(function(lambda _: " \n"), request()) is None


async def test_a_summariser_that_fails_is_the_cause_of_the_error() -> None:
    with pytest.raises(CompactionError, match="ConnectionError: the model is asleep") as caught:
        await draft_compaction(function(fail), request())
    assert isinstance(caught.value.__cause__, ConnectionError)


async def test_an_error_of_ours_is_not_wrapped() -> None:
    def unavailable(prompt: str) -> str:
        raise StoreUnavailableError("no notes")

    with pytest.raises(StoreUnavailableError):
        await draft_compaction(function(unavailable), request())
    draft = await drafted(function(unavailable, strategy="hybrid"), request())
    assert draft.metadata["reason"] == "no notes"


async def test_a_summariser_that_hangs_is_given_up() -> None:
    with pytest.raises(CompactionError, match="TimeoutError") as caught:
        await draft_compaction(function(hang, timeout_s=0.01), request())
    assert isinstance(caught.value.__cause__, TimeoutError)


@pytest.mark.parametrize("answer", [None, 3, b"bytes", ["a"]])
async def test_an_answer_that_is_no_text_is_refused(answer: Any) -> None:
    with pytest.raises(UsageError, match="give a text or a SummaryAnswer"):
        await draft_compaction(function(lambda _: answer), request())


async def test_a_digest_asks_nobody() -> None:
    given = request()
    draft = await drafted(function(fail, strategy="digest"), given)
    assert draft.summary == digest(given.entries[3:8], 100)
    assert draft.metadata["strategy"] == "digest"
    assert draft.metadata["fell_back"] is False


async def test_hybrid_takes_the_summary_when_there_is_one() -> None:
    draft = await drafted(function(lambda _: "All.", strategy="hybrid"), request())
    assert draft.summary == "All."
    assert draft.metadata["fell_back"] is False


@pytest.mark.parametrize(
    ("summarize", "reason"),
    [
        (fail, "asleep"),
        (hang, "TimeoutError"),
        (lambda _: "  ", "blank"),
        (lambda _: None, "gave None"),
        (lambda _: "All\ud800.", "lone surrogate at character 3"),
    ],
)
async def test_hybrid_falls_back_to_the_digest_and_says_so(summarize: Any, reason: str) -> None:
    given = request()
    timeout_s = 0.01 if summarize is hang else 60
    draft = await drafted(function(summarize, strategy="hybrid", timeout_s=timeout_s), given)
    assert draft.summary == digest(given.entries[3:8], 100)
    assert draft.metadata["strategy"] == "hybrid"
    assert draft.metadata["fell_back"] is True
    assert reason in draft.metadata["reason"]


async def test_a_summary_that_no_store_can_keep_could_not_be_made() -> None:
    broken = SummaryAnswer(text="All\ud800.", usage=USAGE)
    with pytest.raises(CompactionError, match="the summary has a lone surrogate"):
        await draft_compaction(function(lambda _: broken), request())
    draft = await drafted(function(lambda _: broken, strategy="hybrid"), request())
    assert draft.usage == USAGE

    def own(asked: CompactRequest) -> CompactDraft:
        return CompactDraft(first=asked.entries[3], last=asked.entries[7], summary="All\ud800.")

    with pytest.raises(CompactionError, match="the summary has a lone surrogate"):
        await draft_compaction(own, request())


async def test_the_reason_of_a_fallback_can_be_kept(caplog: pytest.LogCaptureFixture) -> None:
    # The warning quotes the error, and no process of tests can send that to another.
    caplog.set_level(logging.ERROR, "sapwood")

    def quote(prompt: str) -> str:
        raise ValueError("a\ud800 cannot be read")

    draft = await drafted(function(quote, strategy="hybrid"), request())
    assert draft.metadata["reason"].encode().endswith(b"a? cannot be read")


async def test_a_blank_summary_that_cost_something_is_still_counted() -> None:
    blank = SummaryAnswer(text="", usage=USAGE)
    draft = await drafted(function(lambda _: blank, strategy="hybrid"), request())
    assert draft.usage == USAGE


async def test_a_function_of_ones_own_gets_the_request() -> None:
    given = request()
    seen: list[CompactRequest] = []

    def own(asked: CompactRequest) -> CompactDraft:
        seen.append(asked)
        return CompactDraft(first=asked.entries[0], last=asked.entries[4], summary="Mine.")

    draft = await drafted(own, given)
    assert seen == [given]
    assert draft.summary == "Mine."


async def test_a_function_of_ones_own_may_decline() -> None:
    given = request()
    blank = CompactDraft(first=given.entries[0], last=given.entries[1], summary=" ")
    assert await draft_compaction(lambda _: None, given) is None
    assert await draft_compaction(lambda _: blank, given) is None


async def test_a_function_of_ones_own_that_fails_is_the_cause_of_the_error() -> None:
    with pytest.raises(CompactionError, match="asleep"):
        await draft_compaction(fail, request())  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["a summary", 3, [], {}, ("a", "b", "c")])
async def test_a_function_of_ones_own_that_gives_something_else_is_told(wrong: Any) -> None:
    with pytest.raises(UsageError, match="CompactDraft"):
        await draft_compaction(lambda _: wrong, request())


async def test_a_draft_has_to_name_entries_of_the_request_in_order() -> None:
    given = request()
    first, last = given.entries[0], given.entries[4]
    wrong = [
        (CompactDraft(first=said("other"), last=last, summary="x"), "first"),
        (CompactDraft(first=first, last="m4", summary="x"), "last"),  # type: ignore[arg-type]
        (CompactDraft(first=last, last=first, summary="x"), "first"),
        (CompactDraft(first=first, last=last, summary="x", metadata=3), "metadata"),  # type: ignore[arg-type]
        (CompactDraft(first=first, last=last, summary=3), "compact function"),  # type: ignore[arg-type]
    ]
    for draft, path in wrong:
        with pytest.raises(UsageError) as caught:
            await draft_compaction(lambda _, draft=draft: draft, given)
        assert caught.value.path == path


async def test_a_draft_that_parts_a_pair_or_covers_a_call_in_flight_is_refused() -> None:
    given = request(*talk(2), call("a"), result("a"), *talk(2), call("b"))
    for first, last in [(0, 2), (3, 4), (0, 6)]:
        draft = CompactDraft(first=given.entries[first], last=given.entries[last], summary="x")
        with pytest.raises(UsageError, match="align"):
            await draft_compaction(lambda _, draft=draft: draft, given)
