"""Blocks: reading, writing, limits."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.context import (
    BlockConfig,
)
from sapwood.errors import (
    NotFoundError,
    UsageError,
)
from sapwood.model import NewSession
from sapwood.store import AsyncStore

from .conftest import Make
from .kept import MEMORY, entries_of


async def test_a_block_is_empty_until_it_is_written(make: Make) -> None:
    block = await make(MEMORY).block("memory")
    assert (block.content, block.tokens, block.version, block.origin) == ("", 0, 0, "default")
    assert (block.writable, block.loadable, block.searchable) == (True, False, False)
    assert (block.description, block.max_tokens) == ("Facts", 20)


async def test_what_is_written_is_there_for_the_next_context(make: Make) -> None:
    written = await make(MEMORY).replace("memory", "Likes tea.")
    read = await make(MEMORY).block("memory")
    assert read == written
    assert (read.content, read.origin, read.by) == ("Likes tea.", "user", "chat")
    assert read.version


async def test_an_appended_text_stands_on_a_line_of_its_own(make: Make) -> None:
    context = make(MEMORY)
    await context.append("memory", "a")
    await context.append("memory", "b")
    assert (await context.append("memory", "\nc\n")).content == "a\nb\nc\n"
    assert (await context.append("memory", "d")).content == "a\nb\nc\nd"


async def test_nothing_appended_is_nothing_written(make: Make) -> None:
    context = make(MEMORY)
    assert (await context.append("memory", "")).version == 0
    before = await context.replace("memory", "a")
    assert await context.append("memory", "") == before


async def test_the_same_again_writes_nothing(make: Make) -> None:
    context = make(MEMORY)
    first = await context.replace("memory", "a")
    assert await context.replace("memory", "a") == first
    assert len(await context.versions("memory")) == 1
    by_model = await context.replace("memory", "a", origin="model")
    assert (by_model.origin, len(await context.versions("memory"))) == ("model", 2)


async def test_a_default_is_used_until_something_is_written(make: Make) -> None:
    config = BlockConfig("memory", default="Nothing is known.")
    context = make(config)
    assert (await context.block("memory")).content == "Nothing is known."
    assert (await context.append("memory", "b")).content == "Nothing is known.\nb"
    assert (await context.replace("memory", "")).content == ""
    assert (await make(config).block("memory")).content == ""


async def test_a_read_only_default_is_a_text(make: Make) -> None:
    context = make(BlockConfig("soul", default="You are kind.", readonly=True))
    block = await context.block("soul")
    assert (block.content, block.writable, block.version, block.origin) == (
        "You are kind.",
        False,
        None,
        "default",
    )
    for write in (context.replace, context.append):
        with pytest.raises(UsageError, match="read-only"):
            await write("soul", "You are mean.")
    with pytest.raises(UsageError, match="read-only"):
        await context.undo("soul")


async def test_a_read_only_block_shows_what_others_store(make: Make) -> None:
    await make(BlockConfig("rules", scope="owner")).replace("rules", "No jokes.")
    reading = make(BlockConfig("rules", scope="owner", readonly=True, default="Any."))
    assert (await reading.block("rules")).content == "No jokes."
    with pytest.raises(UsageError, match="read-only"):
        await reading.replace("rules", "Jokes.")


async def test_scopes_say_who_shares_a_block(make: Make, store: AsyncStore) -> None:
    await store.create_session("ada", NewSession(id="other"))
    await store.create_session("bob", NewSession(id="chat"))
    configs = [
        BlockConfig("mine"),
        BlockConfig("ours", scope="owner"),
        BlockConfig("cook", scope="agent", agent="cook"),
    ]
    context = make(*configs)
    for config in configs:
        await context.replace(config.label, f"said in {config.label}")
    texts = [block.content for block in await make(*configs, session="other").blocks()]
    assert texts == ["", "said in ours", "said in cook"]
    assert [block.content for block in await make(*configs, owner="bob").blocks()] == [""] * 3
    guard = make(BlockConfig("cook", scope="agent", agent="guard"))
    assert (await guard.block("cook")).content == ""


async def test_agents_and_labels_with_slashes_do_not_meet(make: Make) -> None:
    one = make(BlockConfig("b/block/c", scope="agent", agent="a"))
    other = make(BlockConfig("c", scope="agent", agent="a/block/b"))
    await one.replace("b/block/c", "x")
    assert (await other.block("c")).content == ""


async def test_documents_are_where_they_are_said_to_be(make: Make, store: AsyncStore) -> None:
    context = make(
        BlockConfig("memory"),
        BlockConfig("ours", scope="owner"),
        BlockConfig("tricks", scope="agent", agent="cook"),
    )
    for block in await context.blocks():
        await context.replace(block.label, "x")
    assert await store.find_document("ada", "block/memory", session="chat")
    assert await store.find_document("ada", "block/ours")
    assert await store.find_document("ada", "agent/cook/block/tricks")


async def test_an_unknown_label_is_told_with_those_there_are(make: Make) -> None:
    context = make(MEMORY)
    calls: list[Any] = [context.block, context.undo, context.versions]
    for call in calls:
        with pytest.raises(NotFoundError, match="'memory'") as raised:
            await call("memories")
        assert (raised.value.kind, raised.value.id) == ("block", "memories")
    for write in (context.replace, context.append, context.load, context.unload, context.search):
        with pytest.raises(NotFoundError):
            await write("memories", "x")


async def test_a_session_that_is_not_there_is_an_error(make: Make) -> None:
    context = make(MEMORY, session="nowhere")
    for read in (context.blocks, context.peek, context.updates, context.loaded, context.freeze):
        with pytest.raises(NotFoundError):
            await read()
    with pytest.raises(NotFoundError):
        await context.replace("memory", "x")


async def test_no_block_of_a_deleted_session_is_left(make: Make, store: AsyncStore) -> None:
    # L4: deleting left blocks and prompts behind.
    context = make(MEMORY, BlockConfig("notes", provider=entries_of(store)))
    await context.replace("memory", "x")
    await context.put_entry("notes", "a", "b")
    await context.load("notes", "a")
    await context.freeze()
    assert len(await store.list_documents("ada", session="chat")) == 4
    await store.delete_session("ada", "chat")
    await store.create_session("ada", NewSession(id="chat"))
    assert await store.list_documents("ada", session="chat") == []
    assert await make(MEMORY).peek() is None
