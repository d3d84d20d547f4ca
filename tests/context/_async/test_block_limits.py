"""What a block may hold, however it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.context import (
    BlockConfig,
    FileProvider,
)
from sapwood.errors import (
    BlockLimitError,
    UsageError,
)
from sapwood.store import AsyncStore

from .conftest import Make
from .kept import MEMORY, Kept, entries_of


async def test_the_limit_holds_for_the_whole_result_on_every_path(make: Make) -> None:
    context = make(MEMORY, counter=len)
    await context.replace("memory", "x" * 20)
    for write, text in ((context.replace, "x" * 21), (context.append, "y")):
        with pytest.raises(BlockLimitError, match=r"'memory' would have 2[12] .* limit is 20"):
            await write("memory", text)
    block = await context.block("memory")
    assert (block.content, len(await context.versions("memory"))) == ("x" * 20, 1)


async def test_undo_keeps_the_limit_too(make: Make) -> None:
    await make(MEMORY, counter=len).replace("memory", "x" * 20)
    await make(MEMORY, counter=len).replace("memory", "short")
    tight = make(BlockConfig("memory", max_tokens=10), counter=len)
    with pytest.raises(BlockLimitError):
        await tight.undo("memory")
    assert (await tight.block("memory")).content == "short"


async def test_a_default_over_the_limit_is_refused_at_once(make: Make) -> None:
    with pytest.raises(BlockLimitError):
        make(BlockConfig("memory", max_tokens=1, default="far too much for that"))
    context = make()
    with pytest.raises(BlockLimitError):
        await context.add(BlockConfig("memory", max_tokens=1, default="far too much for that"))
    assert await context.blocks() == []


async def test_a_files_limit_is_kept_when_it_is_written(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("x" * 30)
    provider = FileProvider(file, writable=True)
    context = make(BlockConfig("notes", max_tokens=20, provider=provider), counter=len)
    assert (await context.block("notes")).tokens == 30
    with pytest.raises(BlockLimitError):
        await context.append("notes", "y")
    with pytest.raises(BlockLimitError):
        await context.replace("notes", "y" * 21)
    assert file.read_text() == "x" * 30
    await context.replace("notes", "y" * 20)
    assert file.read_text() == "y" * 20


async def test_a_keyed_entry_keeps_the_limit(make: Make, store: AsyncStore) -> None:
    config = BlockConfig("notes", max_tokens=20, provider=entries_of(store))
    context = make(config, counter=len)
    with pytest.raises(BlockLimitError):
        await context.put_entry("notes", "a", "x" * 21)
    with pytest.raises(BlockLimitError):
        await context.put_entry("notes", "a", "x", "a description that is too long")
    assert await entries_of(store).entries() == []
    await context.put_entry("notes", "a", "x" * 20)


async def test_a_counter_that_fails_is_replaced_by_the_estimate(make: Make) -> None:
    def broken(text: str) -> int:
        raise RuntimeError("no tokens")

    for counter in (broken, lambda text: -1, lambda text: 2.5):
        context = make(MEMORY, counter=counter)
        assert (await context.replace("memory", "Likes tea.")).tokens == 3


@pytest.mark.parametrize("wrong", ["\ud800", 7, None, b"x"])
async def test_what_is_no_text_is_refused(make: Make, wrong: Any) -> None:
    context = make(MEMORY, BlockConfig("file", provider=Kept("a")))
    for label in ("memory", "file"):
        for write in (context.replace, context.append):
            with pytest.raises(UsageError, match="content") as raised:
                await write(label, wrong)
            assert raised.value.path == "content"
