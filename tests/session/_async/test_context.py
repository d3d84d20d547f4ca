"""A session's blocks, its prompt and its tools, as a session offers them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood import AsyncSession, AsyncSessionManager
from sapwood.context import AsyncStoreEntries, BlockConfig, LoadedKey, SkillsFolder
from sapwood.errors import BlockLimitError, NotFoundError, StaleVersionError, UsageError


@pytest.fixture
async def chat(sessions: AsyncSessionManager) -> AsyncSession:
    sessions.with_context("soul", default="You are helpful.", readonly=True)
    sessions.with_context("memory", description="Facts", max_tokens=20)
    return await sessions.session("chat")


@pytest.fixture
def skills(tmp_path: Path) -> SkillsFolder:
    for name in ("tea", "bread"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        text = (
            f"---\nname: {name}\ndescription: How to make {name}.\n---\nTake your time with {name}."
        )
        (tmp_path / "skills" / name / "SKILL.md").write_text(text)
    return SkillsFolder(tmp_path / "skills")


async def test_blocks_are_listed_as_they_are_now(chat: AsyncSession) -> None:
    soul, memory = await chat.context_blocks()
    assert (soul.label, soul.content, soul.writable) == ("soul", "You are helpful.", False)
    assert (memory.label, memory.content, memory.max_tokens) == ("memory", "", 20)
    assert await chat.get_context_block("soul") == soul
    with pytest.raises(NotFoundError):
        await chat.get_context_block("diary")


async def test_blocks_are_replaced_appended_to_and_undone(chat: AsyncSession) -> None:
    first = await chat.replace_context_block("memory", "Likes tea.")
    await chat.append_context_block("memory", "Lives in Porto.")
    assert (await chat.get_context_block("memory")).content == "Likes tea.\nLives in Porto."
    with pytest.raises(StaleVersionError):
        await chat.replace_context_block("memory", "x", expected_version=first.version)
    with pytest.raises(BlockLimitError):
        await chat.append_context_block("memory", "and so on " * 20)
    with pytest.raises(UsageError):
        await chat.replace_context_block("soul", "You are rude.")
    assert (await chat.undo_context_block("memory")).content == "Likes tea."
    versions = await chat.context_block_versions("memory")
    assert [(it.content, it.undone) for it in versions] == [
        ("Likes tea.", False),
        ("Likes tea.\nLives in Porto.", True),
    ]


async def test_blocks_are_added_and_removed_in_use(chat: AsyncSession) -> None:
    before = await chat.system_prompt()
    added = await chat.add_context(BlockConfig("mood", default="cheerful"))
    assert added.content == "cheerful"
    assert "MOOD" in await chat.system_prompt()
    with pytest.raises(UsageError):
        await chat.add_context(BlockConfig("mood"))
    assert await chat.remove_context("mood")
    assert not await chat.remove_context("mood")
    assert await chat.system_prompt() == before


async def test_entries_are_written_and_searched(sessions: AsyncSessionManager) -> None:
    notes = AsyncStoreEntries(sessions.store, "ada", "notes")
    chat = await sessions.with_context("notes", provider=notes).session("chat")
    key = await chat.put_context_entry("notes", "Tea", "Four minutes.", description="Brewing")
    assert key == "tea"
    assert "Four minutes." in await chat.search_context("notes", "minutes")
    assert await chat.load_context("notes", "tea") == "Four minutes."


async def test_what_is_loaded_survives_another_object_and_a_clear_unloads(
    sessions: AsyncSessionManager, skills: SkillsFolder
) -> None:
    sessions.with_context("skills", provider=skills)
    chat = await sessions.session("chat")
    assert "Take your time" in await chat.load_context("skills", "tea")
    again = await sessions.session("chat")
    assert await again.loaded_context() == [LoadedKey(label="skills", key="tea")]
    assert await again.unload_context("skills", "tea")
    assert not await again.unload_context("skills", "tea")
    await chat.load_context("skills", "bread")
    await chat.clear()
    assert await again.loaded_context() == []


async def test_the_prompt_is_frozen_refreshed_and_reported(chat: AsyncSession) -> None:
    frozen = await chat.system_prompt()
    assert await chat.context_updates() == ""
    await chat.replace_context_block("memory", "Likes tea.")
    assert await chat.system_prompt() == frozen
    assert "Likes tea." in await chat.context_updates()
    assert "Likes tea." in await chat.refresh_system_prompt()
    assert await chat.context_updates() == ""
    newest = (await chat.cache_report()).changes[0]
    assert (newest.reason, newest.blocks) == ("refresh", ["memory"])


async def test_a_clear_keeps_the_blocks_and_renders_the_prompt_anew(chat: AsyncSession) -> None:
    await chat.system_prompt()
    await chat.replace_context_block("memory", "Likes tea.")
    await chat.append("user", "hello")
    await chat.clear()
    assert "Likes tea." in await chat.system_prompt()


async def test_tools_are_described_and_called(chat: AsyncSession) -> None:
    assert [tool.name for tool in chat.tools()] == ["update_context"]
    asked = {"label": "memory", "content": "Likes tea.", "action": "append"}
    assert "Usage" in await chat.call_tool("update_context", asked)
    assert (await chat.get_context_block("memory")).origin == "model"
    assert (await chat.call_tool("update_context", {"label": "soul"})).startswith("Error: ")
    assert (await chat.call_tool("fly", {})).startswith("Error: ")


async def test_a_searchable_history_finds_all_that_the_owner_said(
    sessions: AsyncSessionManager,
) -> None:
    await (await sessions.session("old")).append("user", "The tram is number 28.", id="m1")
    other = AsyncSessionManager(sessions.store, owner="bob", new_id=lambda: "x")
    await (await other.session("old")).append("user", "The tram is late.")
    chat = await sessions.with_searchable_history("past").session("chat")
    await chat.append("user", "My tram is yellow.")
    assert [tool.name for tool in chat.tools()] == ["search_context", "session_search"]
    found = await chat.call_tool("search_context", {"label": "past", "query": "tram"})
    assert "number 28" in found
    assert "yellow" in found
    assert "late" not in found
    around = await chat.call_tool("session_search", {"session": "old", "around": "m1"})
    assert "number 28" in around
    assert "PAST [searchable]" in (await chat.prepare()).prompt


async def test_a_history_is_searchable_by_a_keyword_too(sessions: AsyncSessionManager) -> None:
    chat = AsyncSession.create(sessions.store, owner="ada", id="chat", searchable_history="past")
    await chat.append("user", "My tram is yellow.")
    assert "yellow" in await chat.search_context("past", "tram")
