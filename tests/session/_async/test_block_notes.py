"""What changed in the blocks is told once, along with a question, and stays where it was told."""

from __future__ import annotations

import msgspec
import pytest

from sapwood import AsyncSession, AsyncSessionManager, ToolCallPart, ToolResultPart
from sapwood.context import BlockConfig
from sapwood.model import ModelInput

AGAIN = "again as it stands in the system prompt"


@pytest.fixture
async def blocks(sessions: AsyncSessionManager) -> AsyncSession:
    sessions.with_context("memory", default="nothing yet").with_context("mood", default="calm")
    chat = await sessions.session("blocks")
    await ask(chat, "one")
    return chat


async def ask(chat: AsyncSession, question: str) -> ModelInput:
    """Ask, and answer after what is given."""
    await chat.append("user", question)
    given = await chat.prepare()
    await chat.append("assistant", f"answer to {question}")
    return given


async def test_a_change_is_told_once_before_what_the_user_says(blocks: AsyncSession) -> None:
    before = await blocks.prepare()
    await blocks.replace_context_block("memory", "likes tea")
    told = await ask(blocks, "two")
    after = await ask(blocks, "three")
    assert told.prompt == after.prompt == before.prompt
    assert told.messages[:-1] == before.messages
    assert after.messages[: len(told.messages)] == told.messages
    context, question = told.messages[-1].parts
    assert "likes tea" in context.text  # type: ignore[union-attr]
    assert "mood" not in context.text.lower()  # type: ignore[union-attr]
    assert question.text == "two"  # type: ignore[union-attr]
    assert after.messages[-1].text == "three"
    assert told.updates == after.updates == ""
    [stored] = [it for it in (await blocks.history()).messages_only if it.text == "two"]
    assert (stored.version, stored.extra) == (1, {})


async def test_what_changes_between_steps_waits_for_the_next_question(
    blocks: AsyncSession,
) -> None:
    await blocks.append("user", "two")
    first = await blocks.prepare()
    await blocks.append("assistant", ToolCallPart(call_id="c", name="look", input={}))
    await blocks.append("tool", ToolResultPart(call_id="c", output="found"))
    await blocks.replace_context_block("memory", "likes tea")
    second = await blocks.prepare()
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-1].role == "tool"
    assert "likes tea" in second.updates
    await blocks.append("assistant", "done")
    third = await ask(blocks, "three")
    assert third.messages[: len(second.messages)] == second.messages
    assert "likes tea" in third.messages[-1].text


async def test_only_what_is_new_is_told_and_what_is_as_before_again(blocks: AsyncSession) -> None:
    await blocks.replace_context_block("memory", "likes tea")
    await ask(blocks, "two")
    await blocks.replace_context_block("mood", "cheerful")
    of_mood = (await ask(blocks, "three")).messages[-1].text
    assert "cheerful" in of_mood
    assert "tea" not in of_mood
    await blocks.replace_context_block("memory", "nothing yet")
    back = (await ask(blocks, "four")).messages[-1].text
    assert AGAIN in back
    assert await blocks.context_updates() != ""
    await blocks.replace_context_block("memory", "likes tea")
    assert "likes tea" in (await ask(blocks, "five")).messages[-1].text
    assert (await ask(blocks, "six")).messages[-1].text == "six"


async def test_a_question_that_was_prepared_before_a_change_tells_it_too(
    blocks: AsyncSession,
) -> None:
    await blocks.replace_context_block("memory", "likes tea")
    await blocks.append("user", "two")
    await blocks.prepare()
    await blocks.replace_context_block("memory", "likes rain")
    text = (await blocks.prepare()).messages[-1].text
    assert text.index("likes tea") < text.index("likes rain") < text.index("two")


async def test_a_prompt_that_is_rendered_anew_takes_the_notes_away(blocks: AsyncSession) -> None:
    await blocks.replace_context_block("memory", "likes tea")
    await ask(blocks, "two")
    await blocks.refresh_system_prompt()
    given = await blocks.prepare()
    assert "likes tea" in given.prompt
    assert "likes tea" not in str(given.messages)


async def test_nothing_is_told_along_with_nothing_or_after_a_clear(blocks: AsyncSession) -> None:
    await blocks.replace_context_block("memory", "likes tea")
    before = await blocks.prepare()
    await blocks.append("user", [])
    assert await blocks.prepare() == msgspec.structs.replace(
        before, leaf=(await blocks.record()).tip
    )
    await blocks.append("user", "two", id="q")
    assert "likes tea" in (await blocks.prepare()).messages[-1].text
    await blocks.clear()
    await blocks.append("user", "two", id="q")
    assert [it.text for it in (await blocks.prepare()).messages] == ["two"]


async def test_forks_and_closed_sessions_send_the_same(blocks: AsyncSession) -> None:
    await blocks.replace_context_block("memory", "likes tea")
    told = await ask(blocks, "two")
    fork = await blocks.fork("fork")
    assert (await fork.prepare()).messages[:-1] == told.messages
    assert (await fork.prepare()).cache_key == told.cache_key
    # A question that it inherited takes a note of its own.
    other = await blocks.fork("other", told.messages[-1].id)
    await other.replace_context_block("mood", "cheerful")
    again = await other.prepare()
    assert "cheerful" in again.messages[-1].text
    assert again == await other.prepare()
    assert "cheerful" not in str((await blocks.prepare()).messages)
    await blocks.append("user", "three")
    await blocks.update_record(closed=True)
    await blocks.replace_context_block("memory", "likes rain")
    assert "likes rain" in (await blocks.prepare()).messages[-1].text


async def test_what_is_not_shown_any_more_is_told_again(blocks: AsyncSession) -> None:
    await blocks.replace_context_block("memory", "likes tea")
    told = await ask(blocks, "two")
    shown = (await blocks.history()).messages_only
    await blocks.add_overlay(shown[0], shown[3], "They spoke.")
    text = (await ask(blocks, "three")).messages[-1].text
    assert "likes tea" in text
    assert told.messages[-1].id not in [it.id for it in (await blocks.prepare()).messages]
    await blocks.append_all([("assistant", "long " * 400), ("user", "four")])
    given = await blocks.prepare(budget=told.tokens + 30)
    assert given.left_out
    assert "likes tea" in given.messages[-1].text
    assert given == await blocks.prepare(budget=told.tokens + 30)


async def test_each_branch_is_told(blocks: AsyncSession) -> None:
    start = (await blocks.history()).messages_only[-1]
    await blocks.replace_context_block("memory", "likes tea")
    there = await ask(blocks, "two")
    await blocks.checkout(start)
    here = await ask(blocks, "three")
    assert "likes tea" in here.messages[-1].text
    assert there.messages[-1].text.replace("two", "three") == here.messages[-1].text


async def test_a_prompt_that_was_written_meanwhile_keeps_no_note(
    sessions: AsyncSessionManager, blocks: AsyncSession
) -> None:
    """Somebody else freezes it while the blocks are being read for a note."""
    raced: list[str] = []

    class Racing:
        async def get(self) -> str:
            if len(raced) == 1:
                raced.append("")
                await (await sessions.get("blocks")).refresh_system_prompt()
            return f"text {min(len(raced), 1)}"

    await blocks.add_context(BlockConfig("race", provider=Racing()))  # type: ignore[arg-type]
    await ask(blocks, "two")
    await blocks.replace_context_block("memory", "likes tea")
    raced.append("")
    given = await ask(blocks, "three")
    assert "likes tea" in given.prompt + given.messages[-1].text
    again = await blocks.prepare()
    assert again.messages[: len(given.messages)] == given.messages
    assert again.prompt == given.prompt


async def test_forks_of_forks_are_cached_together(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("first")
    await chat.append("user", "hi")
    keys = [(await chat.prepare()).cache_key]
    for name in ("second", "third"):
        chat = await chat.fork(name)
        keys.append((await chat.prepare()).cache_key)
    split = await chat.compact_and_split("fourth", summary="They met.")
    keys.append((await split.prepare()).cache_key)
    other = (await (await sessions.session("other")).prepare()).cache_key
    theirs = await sessions.for_owner("bob").session("first")
    assert len(set(keys)) == 1
    assert len({*keys, other, (await theirs.prepare()).cache_key}) == 3
    assert all(key is not None and len(key) <= 64 for key in keys)
