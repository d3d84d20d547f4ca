"""The frozen prompt: rendered once, the same byte for byte, rendered anew only on purpose."""

from __future__ import annotations

import logging
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
from sapwood.errors import StoreCorruptError, UsageError
from sapwood.model import ForkPoint, NewSession
from sapwood.rules.prompt import FRAME
from sapwood.store import AsyncStore
from sapwood.testing import ManualClock

from .conftest import Make

SOUL = BlockConfig("soul", default="You are kind.", readonly=True)
MEMORY = BlockConfig("memory", description="Facts", max_tokens=100)


class Source:
    """A text from elsewhere, which can be told to fail."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.fails = False
        self.asked = 0

    def get(self) -> str | None:
        self.asked += 1
        if self.fails:
            raise OSError("no answer")
        return self.text


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


CHANGES: dict[str, list[BlockConfig]] = {
    "a block more": [SOUL, MEMORY, BlockConfig("notes")],
    "a block less": [SOUL],
    "another order": [MEMORY, SOUL],
    "another label": [SOUL, BlockConfig("facts", "Facts", 100)],
    "another description": [SOUL, BlockConfig("memory", "What is known", 100)],
    "another limit": [SOUL, BlockConfig("memory", "Facts", 200)],
    "no limit": [SOUL, BlockConfig("memory", "Facts")],
    "read-only": [SOUL, BlockConfig("memory", "Facts", 100, readonly=True)],
    "another text": [BlockConfig("soul", default="You are terse.", readonly=True), MEMORY],
    "another scope": [SOUL, BlockConfig("memory", "Facts", 100, scope="owner")],
    "another kind": [SOUL, BlockConfig("memory", "Facts", 100, SkillsFolder("nowhere"))],
}


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


# providers that fail


async def test_a_failing_provider_does_not_fail_the_prompt(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source("a")
    source.fails = True
    context = make(SOUL, BlockConfig("data", provider=source, max_tokens=10))
    with caplog.at_level(logging.WARNING, "sapwood"):
        text = await context.freeze()
    assert "SOUL" in text
    assert text.endswith(
        f"DATA [0% — 0/10 tokens] [readonly]\n{FRAME}\n[This block cannot be read at the moment.]"
    )
    assert "'data'" in caplog.text
    assert await context.updates() == ""
    source.fails = False
    assert await context.updates() != ""
    assert "cannot be read" not in await context.refresh()


async def test_a_provider_that_fails_later_keeps_what_was_frozen(make: Make) -> None:
    source = Source("as it was")
    context = make(SOUL, BlockConfig("data", provider=source))
    frozen = await context.freeze()
    source.fails = True
    assert await context.refresh() == frozen
    assert await context.updates() == ""
    source.fails = False
    source.text = "as it is"
    assert "as it is" in await context.refresh()


async def test_what_was_empty_stays_empty_when_it_cannot_be_read(make: Make) -> None:
    source = Source(None)
    context = make(BlockConfig("data", provider=source))
    assert await context.freeze() == ""
    source.fails = True
    assert await context.refresh() == ""


async def test_what_was_frozen_of_another_configuration_is_not_kept(make: Make) -> None:
    await make(BlockConfig("data", provider=Source("secret"))).freeze()
    source = Source("b")
    source.fails = True
    text = await make(BlockConfig("data", "other", provider=source)).freeze()
    assert "secret" not in text
    assert "cannot be read" in text


@pytest.mark.parametrize("given", [7, "\ud800", ["a"]])
async def test_nonsense_is_a_failure(make: Make, given: Any) -> None:
    text = await make(BlockConfig("data", provider=Source(given))).freeze()
    assert "cannot be read" in text


async def test_a_fingerprint_that_fails_is_none(make: Make) -> None:
    class Odd(Source):
        def fingerprint(self) -> Any:
            raise OSError("no answer")

    class Odder(Source):
        def fingerprint(self) -> Any:
            return 7

    for source in (Odd("a"), Odder("a")):
        assert (await make(BlockConfig("data", provider=source)).freeze()).endswith("a")


async def test_content_over_its_limit_is_shown_with_its_share(make: Make) -> None:
    context = make(BlockConfig("data", provider=Source("x" * 30), max_tokens=20), counter=len)
    assert "DATA [150% — 30/20 tokens] [readonly]" in await context.freeze()


# updates


async def test_updates_tell_what_changed_since_the_freeze(make: Make) -> None:
    context = make(SOUL, MEMORY)
    await context.freeze()
    assert await context.updates() == ""
    await context.replace("memory", "Likes tea.")
    told = await context.updates()
    assert told == (
        "These blocks of the system prompt have changed since it was written:\n\n"
        "MEMORY (Facts) [3% — 3/100 tokens] [writable]\nLikes tea."
    )
    assert await make(SOUL, MEMORY).updates() == told
    await context.replace("memory", "")
    assert await context.updates() == ""
    await context.replace("memory", "a")
    await context.refresh()
    assert await context.updates() == ""


async def test_updates_tell_of_an_emptied_and_of_a_removed_block(make: Make) -> None:
    context = make(SOUL, MEMORY)
    await context.replace("memory", "a")
    await context.freeze()
    await context.replace("memory", "")
    assert "This block is empty now." in await context.updates()
    await context.remove("memory")
    assert "MEMORY is no longer there." in await context.updates()


async def test_updates_tell_of_an_added_block(make: Make) -> None:
    context = make(SOUL)
    await context.freeze()
    await context.add(MEMORY)
    assert await context.updates() == ""
    await context.add(BlockConfig("data", provider=Source("new text")))
    assert "DATA [readonly]\nnew text" in await context.updates()


async def test_of_a_large_block_only_what_changed_is_told(make: Make) -> None:
    context = make(BlockConfig("memory"))
    lines = [f"fact number {number} of many" for number in range(1000)]
    await context.replace("memory", "\n".join(lines))
    await context.freeze()
    await context.append("memory", "a new fact")
    told = await context.updates()
    assert told.endswith("(1 line after line 1000; the others are as they were.)\na new fact")
    lines[500] = "changed"
    await context.replace("memory", "\n".join(lines))
    assert (await context.updates()).endswith(
        "after line 500 in place of 1; the others are as they were.)\nchanged"
    )


# the report


async def test_the_report_says_what_changed_when_and_why(make: Make, clock: ManualClock) -> None:
    start = clock.now_us
    context = make(SOUL, MEMORY)
    first = await context.freeze()
    clock.advance(1)
    await context.replace("memory", "Likes tea.")
    await context.refresh("compaction")
    clock.advance(1)
    await context.refresh("clear")
    clock.advance(1)
    last = await make(MEMORY, SOUL).freeze()
    report = await make(MEMORY, SOUL).cache_report()
    assert [(it.reason, it.blocks, it.at_us - start) for it in report.changes] == [
        ("configuration", ["memory", "soul"], 3_000_000),
        ("compaction", ["memory"], 1_000_000),
        ("first", ["soul", "memory"], 0),
    ]
    at_order, at_content, at_first = [it.first_difference for it in report.changes]
    assert at_first is None
    assert at_content == len(first.split("[0%")[0].encode()) + 1
    assert at_order == len(f"{FRAME}\n".encode())
    assert report.tokens == report.changes[0].tokens > 0
    assert report.bytes == len(last.encode())
    assert report.changes[0].at.tzinfo is not None


async def test_a_change_that_shows_nothing_is_no_change_of_the_prefix(
    make: Make, clock: ManualClock
) -> None:
    start = clock.now_us
    await make(MEMORY).freeze()
    clock.advance(1)
    elsewhere = BlockConfig("memory", "Facts", 100, scope="owner")
    await make(elsewhere).freeze()
    report = await make(elsewhere).cache_report()
    assert report.is_current
    assert [(it.reason, it.at_us) for it in report.changes] == [("first", start)]


async def test_the_last_twenty_changes_are_kept(make: Make) -> None:
    context = make(MEMORY)
    await context.freeze()
    for number in range(30):
        await context.replace("memory", f"{number}")
        await context.refresh(f"reason {number}")
    reasons = [change.reason for change in (await context.cache_report()).changes]
    assert reasons == [f"reason {number}" for number in range(29, 9, -1)]


async def test_a_reason_is_a_name(make: Make) -> None:
    with pytest.raises(UsageError):
        await make(MEMORY).refresh("")


# races, damage


async def test_who_freezes_at_once_agrees_on_one_text(make: Make) -> None:
    texts: list[str] = []

    class Between:
        """Lets the other freeze through while this one is being rendered."""

        async def get(self) -> str:
            if not texts:
                texts.append("")
                texts[0] = await make(config).freeze()
            return "mine" if len(texts) == 1 and texts[0] else "theirs"

    config = BlockConfig("data", provider=Between())  # type: ignore[arg-type]
    mine = await make(config).freeze()
    assert mine == texts[0]
    assert "theirs" in mine
    assert await make(config).peek() == mine


async def test_a_refresh_that_loses_a_race_reads_again(make: Make) -> None:
    other = make(MEMORY)
    await other.freeze()
    raced: list[int] = []

    async def race() -> None:
        if not raced:
            raced.append(1)
            await other.replace("memory", "from the other")
            await other.refresh()

    text = await make(MEMORY, before_write=race).refresh()
    assert "from the other" in text
    assert await make(MEMORY).peek() == text


async def test_a_damaged_prompt_is_told_and_mended_by_a_refresh(
    make: Make, store: AsyncStore
) -> None:
    context = make(SOUL)
    frozen = await context.freeze()
    await store.put_document("ada", "prompt", b'{"text": 7}', session="chat")
    for call in (context.freeze, context.peek, context.updates, context.cache_report):
        with pytest.raises(StoreCorruptError, match="refresh"):
            await call()
    assert await context.refresh() == frozen
    assert await context.freeze() == frozen
