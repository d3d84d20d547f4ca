"""Sessions that are compacted without being asked, and what a compaction leaves of the prompt."""

from __future__ import annotations

import pytest

from sapwood import (
    AsyncSessionManager,
)
from sapwood.errors import CompactionError, UsageError
from sapwood.model import Usage

from .compactable import LONG, Model, fill, tight


async def test_it_compacts_by_itself_when_the_threshold_is_crossed(
    sessions: AsyncSessionManager,
) -> None:
    model = Model()
    sessions.compact_with(tight(model)).compact_after(2_000)
    chat = await sessions.session("chat")
    for number in range(40):
        await chat.append("user", f"{number}: {LONG}")
    assert await chat.context_tokens() <= 2_200
    assert 2 < len(model.prompts) < 10
    assert len((await chat.history(overlays=False)).entries) == 40
    assert not await chat.needs_compaction()


async def test_a_threshold_of_zero_is_one(sessions: AsyncSessionManager) -> None:
    sessions.compact_with(tight(Model())).compact_after(0)
    chat = await sessions.session("chat")
    await fill(chat, 8)
    assert len(await chat.overlays()) == 1


@pytest.mark.parametrize("tokens", [2_000, 25_000])
async def test_a_threshold_alone_compacts_by_a_digest(
    sessions: AsyncSessionManager, tokens: int
) -> None:
    sessions.compact_after(tokens)
    chat = await sessions.session("chat")
    for _ in range(60):
        await chat.append("user", LONG * 5)
    assert await chat.context_tokens() < tokens + 1_500
    assert {note.strategy for note in await chat.compactions()} == {"digest"}


async def test_a_budget_sets_the_thresholds(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat", budget=1_000)
    await chat.append("user", "word " * 600)
    assert not await chat.needs_compaction()
    await chat.append("user", "word " * 600)
    assert await chat.needs_compaction()


async def test_a_failure_by_itself_goes_to_the_handler_and_is_held_back(
    sessions: AsyncSessionManager,
) -> None:
    errors: list[Exception] = []
    calls: list[str] = []

    def fail(prompt: str) -> str:
        calls.append(prompt)
        raise OSError("no model")

    sessions.compact_with(tight(fail)).compact_after(500).on_compaction_error(errors.append)
    chat = await sessions.session("chat")
    for number in range(30):
        await chat.append("user", f"{number}: {LONG}")
    assert 1 <= len(calls) < 12, "the breaker holds it back"
    assert [type(error) for error in errors] == [CompactionError] * len(calls)
    assert len((await chat.history()).entries) == 30
    # The breaker is in the store: a restart does not forget it.
    again = await sessions.get("chat")
    before = len(calls)
    await again.append("user", "short")
    assert len(calls) == before


async def test_a_clear_forgets_what_was_compacted_undone_and_reported(
    sessions: AsyncSessionManager,
) -> None:
    chat = (await sessions.session("chat")).compact_with(tight(Model()))
    messages = await fill(chat, 8)
    await chat.add_usage(Usage(id="c", message=messages[-1].id, input_tokens=90_000))
    await chat.compact()
    await chat.undo_compaction()
    await chat.undo()
    await chat.clear()
    assert await chat.compactions() == []
    assert await chat.context_tokens() == 0
    with pytest.raises(UsageError, match="nothing to redo"):
        await chat.redo()
    keys = [it.key for it in await sessions.store.list_documents("ada", session="chat")]
    assert keys == []


async def test_rule_12_the_prompt_is_rendered_anew_by_a_compaction(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_context("memory").compact_with(tight(Model()))
    chat = await sessions.session("chat")
    await fill(chat, 8)
    frozen = await chat.system_prompt()
    await chat.replace_context_block("memory", "likes tea")
    assert await chat.system_prompt() == frozen
    await chat.compact()
    assert "likes tea" in await chat.system_prompt()


async def test_rule_11_the_prompt_is_the_same_after_any_number_of_compactions(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_context("memory", default="likes tea").compact_with(tight(Model()))
    chat = await sessions.session("chat")
    await fill(chat, 8)
    frozen = await chat.system_prompt()
    for _ in range(5):
        await fill(chat, 4)
        assert (await chat.compact()).status == "done"
        assert await (await sessions.get("chat")).system_prompt() == frozen
