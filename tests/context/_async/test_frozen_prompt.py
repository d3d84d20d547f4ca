"""The frozen prompt: rendered once, the same byte for byte, rendered anew only on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.context import (
    AsyncContext,
    AsyncSearchableHistory,
    AsyncStoreEntries,
    BlockConfig,
    CallableProvider,
    SkillsFolder,
    TextProvider,
)
from sapwood.model import ForkPoint, NewSession
from sapwood.rules.prompt import FRAME
from sapwood.store import AsyncStore

from .conftest import Make
from .source import CHANGES, MEMORY, SOUL, Source


async def test_the_prompt_shows_the_blocks(make: Make) -> None:
    context = make(SOUL, MEMORY)
    await context.replace("memory", "Likes tea.")
    assert await context.freeze() == (
        f"{FRAME}\nSOUL [readonly]\n{FRAME}\nYou are kind.\n\n"
        f"{FRAME}\nMEMORY (Facts) [3% — 3/100 tokens] [writable]\n{FRAME}\nLikes tea."
    )


async def test_writes_do_not_change_it_until_it_is_refreshed(make: Make) -> None:
    context = make(SOUL, MEMORY)
    frozen = await context.freeze()
    await context.replace("memory", "Likes tea.")
    await context.append("memory", "No sugar.")
    await context.undo("memory")
    assert await context.freeze() == frozen
    assert await make(SOUL, MEMORY).freeze() == frozen
    assert await context.peek() == frozen
    renewed = await context.refresh()
    assert renewed != frozen
    assert "Likes tea." in renewed
    assert await make(SOUL, MEMORY).freeze() == renewed


async def test_a_freeze_does_not_ask_providers_again(make: Make) -> None:
    source = Source("a")
    config = BlockConfig("data", provider=source)
    for _ in range(3):
        await make(config).freeze()
    assert source.asked == 1
    await make(config).peek()
    assert source.asked == 1


async def test_there_is_no_prompt_before_it_is_frozen(make: Make) -> None:
    context = make(SOUL)
    assert await context.peek() is None
    assert await context.updates() == ""
    report = await context.cache_report()
    assert (report.is_frozen, report.is_current, report.tokens, report.changes) == (
        False,
        False,
        0,
        [],
    )


async def test_an_empty_prompt_is_a_prompt(make: Make, store: AsyncStore) -> None:
    source = Source(None)
    context = make(BlockConfig("data", provider=source))
    assert await context.freeze() == ""
    assert await context.peek() == ""
    before = await store.find_document("ada", "prompt", session="chat")
    source.text = "now there is some"
    assert await context.freeze() == ""
    assert await store.find_document("ada", "prompt", session="chat") == before
    assert await make().freeze() == ""
    assert await make().peek() == ""


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
async def test_another_configuration_renders_it_anew(
    make: Make, changed: list[BlockConfig]
) -> None:
    # L12: a redeploy with other blocks went on with the old prompt.
    first = make(SOUL, MEMORY)
    await first.replace("memory", "Likes tea.")
    await first.freeze()
    context = make(*changed)
    assert not (await context.cache_report()).is_current
    text = await context.freeze()
    report = await context.cache_report()
    assert report.is_current
    assert report.changes[0].reason == "configuration"
    assert text == await make(*changed).refresh()


async def test_keys_of_skills_and_the_part_of_history_are_configuration(
    make: Make, store: AsyncStore
) -> None:
    def history(within: Any) -> AsyncSearchableHistory:
        return AsyncSearchableHistory(store, "ada", "chat", within=within)

    pairs: list[tuple[Any, Any]] = [
        (SkillsFolder("nowhere"), SkillsFolder("nowhere", ["a"])),
        (history("others"), history("all")),
        (TextProvider("a"), TextProvider("b")),
    ]
    for one, other in pairs:
        await make(BlockConfig("x", provider=one)).freeze()
        assert (await make(BlockConfig("x", provider=one)).cache_report()).is_current
        assert not (await make(BlockConfig("x", provider=other)).cache_report()).is_current


async def test_content_is_not_configuration(make: Make, store: AsyncStore) -> None:
    def contexts(text: str, default: str, path: str) -> AsyncContext:
        return make(
            BlockConfig("memory", default=default),
            BlockConfig("data", provider=CallableProvider(lambda: text)),
            BlockConfig("skills", provider=SkillsFolder(path)),
            BlockConfig("notes", provider=AsyncStoreEntries(store, "ada", "notes")),
        )

    frozen = await contexts("a", "b", "c").freeze()
    await contexts("a", "b", "c").put_entry("notes", "x", "y")
    assert await contexts("x", "y", "z").freeze() == frozen


async def test_adding_and_removing_at_run_time_is_another_configuration(make: Make) -> None:
    context = make(SOUL)
    frozen = await context.freeze()
    await context.add(MEMORY)
    assert await context.peek() == frozen
    assert "MEMORY" in await context.freeze()
    await context.remove("memory")
    assert await context.freeze() == frozen


async def test_a_fork_has_the_same_prompt_byte_for_byte(make: Make, store: AsyncStore) -> None:
    frozen = await make(SOUL, MEMORY).freeze()
    await make(SOUL, MEMORY).replace("memory", "later")
    await store.create_session("ada", NewSession(id="fork", fork=ForkPoint(session="chat")))
    forked = make(SOUL, MEMORY, session="fork")
    assert await forked.freeze() == frozen
    assert "later" in await forked.refresh()
    assert await make(SOUL, MEMORY).freeze() == frozen


async def test_a_refresh_without_changes_writes_nothing(make: Make, store: AsyncStore) -> None:
    context = make(SOUL, MEMORY)
    frozen = await context.freeze()
    before = await store.find_document("ada", "prompt", session="chat")
    for _ in range(3):
        assert await context.refresh("compaction") == frozen
    assert await store.find_document("ada", "prompt", session="chat") == before
