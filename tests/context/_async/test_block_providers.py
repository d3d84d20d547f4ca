"""Blocks whose text comes from a provider."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.context import (
    AsyncStoreBlock,
    BlockConfig,
    CallableProvider,
)
from sapwood.errors import (
    UsageError,
)
from sapwood.store import AsyncStore

from .conftest import Make
from .kept import Kept


async def test_a_provider_that_fails_is_left_as_it_was(make: Make) -> None:
    kept = Kept("a")
    context = make(BlockConfig("memory", provider=kept))
    kept.fails = True
    for write in (context.append, context.replace):
        with pytest.raises(OSError, match="no answer"):
            await write("memory", "b")
    with pytest.raises(OSError, match="no answer"):
        await context.block("memory")
    [block] = await context.blocks()
    assert (block.content, block.error) == ("", "OSError: no answer")
    kept.fails = False
    assert (await context.block("memory")).content == "a"
    assert (await context.append("memory", "b")).content == "a\nb"
    assert kept.content == "a\nb"


async def test_a_provider_has_no_versions(make: Make) -> None:
    context = make(BlockConfig("memory", provider=Kept("a")))
    assert (await context.block("memory")).version is None
    calls: list[Any] = [context.undo, context.versions]
    for call in calls:
        with pytest.raises(UsageError, match="no versions"):
            await call("memory")
    with pytest.raises(UsageError, match="no versions"):
        await context.replace("memory", "b", expected_version=3)


async def test_a_provider_is_not_written_where_it_is_read_only(make: Make) -> None:
    kept = Kept("a")
    context = make(BlockConfig("memory", provider=kept, readonly=True))
    assert not (await context.block("memory")).writable
    with pytest.raises(UsageError, match="read-only"):
        await context.replace("memory", "b")
    assert kept.content == "a"


async def test_a_provider_without_text_gives_the_default(make: Make) -> None:
    context = make(BlockConfig("memory", provider=Kept(None), default="none yet"))
    assert (await context.block("memory")).content == "none yet"
    assert (await context.append("memory", "b")).content == "none yet\nb"


async def test_a_stored_block_can_be_given_as_a_provider(make: Make, store: AsyncStore) -> None:
    shared = AsyncStoreBlock(store, "ada", "shared", scope="owner")
    await shared.set("a")
    context = make(BlockConfig("memory", provider=shared))
    assert (await context.append("memory", "b")).version
    assert await shared.get() == "a\nb"
    assert (await context.undo("memory")).content == "a"


@pytest.mark.parametrize("given", [7, ["a"], b"a", "\ud800"])
async def test_a_provider_that_gives_no_text_is_told(make: Make, given: Any) -> None:
    context = make(BlockConfig("memory", provider=CallableProvider(lambda: given)))
    with pytest.raises(UsageError, match="'memory'"):
        await context.block("memory")
    [block] = await context.blocks()
    assert block.error is not None
