"""Summarisers that have to be awaited: on a loop they are, without one it is said."""

from __future__ import annotations

import asyncio

import pytest

from sapwood.compaction import CompactDraft, CompactRequest, create_compact_function
from sapwood.compaction._async.drafts import draft_compaction as draft_on_a_loop
from sapwood.compaction._sync.drafts import draft_compaction
from sapwood.errors import CompactionError, UsageError

from .histories import talk


async def summarize(prompt: str) -> str:
    await asyncio.sleep(0)
    return "All of it."


async def hang(prompt: str) -> str:
    await asyncio.Event().wait()
    return "never"


def request() -> CompactRequest:
    return CompactRequest(entries=talk(10), tokens=100)


async def test_a_summariser_that_has_to_be_awaited_is_awaited() -> None:
    draft = await draft_on_a_loop(
        create_compact_function(summarize, tail_token_budget=20), request()
    )
    assert draft is not None
    assert draft.summary == "All of it."


async def test_so_is_a_function_of_ones_own() -> None:
    async def own(asked: CompactRequest) -> CompactDraft:
        summary = await summarize("")
        return CompactDraft(first=asked.entries[0], last=asked.entries[1], summary=summary)

    draft = await draft_on_a_loop(own, request())
    assert draft is not None


async def test_what_hangs_is_given_up() -> None:
    function = create_compact_function(hang, tail_token_budget=20, timeout_s=0.01)
    with pytest.raises(CompactionError, match="TimeoutError"):
        await draft_on_a_loop(function, request())


@pytest.mark.parametrize("strategy", ["summarize", "hybrid"])
async def test_a_cancelled_compaction_is_cancelled_and_nothing_else(strategy: str) -> None:
    function = create_compact_function(hang, strategy=strategy, tail_token_budget=20)  # type: ignore[arg-type]
    task = asyncio.ensure_future(draft_on_a_loop(function, request()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_without_a_loop_it_is_refused() -> None:
    with pytest.raises(UsageError, match="async twin"):
        draft_compaction(create_compact_function(summarize, tail_token_budget=20), request())
    draft = draft_compaction(
        create_compact_function(summarize, strategy="hybrid", tail_token_budget=20), request()
    )
    assert draft is not None
    assert "async twin" in draft.metadata["reason"]
