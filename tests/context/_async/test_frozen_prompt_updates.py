"""What changed since a freeze: told to the model, reported, and agreed upon."""

from __future__ import annotations

import pytest

from sapwood.context import (
    BlockConfig,
)
from sapwood.context.prompt_document import BlockNote
from sapwood.errors import ReadOnlyError, StoreCorruptError, UsageError
from sapwood.rules.prompt import FRAME
from sapwood.store import AsyncStore
from sapwood.testing import ManualClock

from .conftest import Make
from .source import MEMORY, SOUL, Source


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


# what was told


async def test_a_note_is_kept_only_beside_the_prompt_that_it_is_about(
    make: Make, clock: ManualClock
) -> None:
    context = make(SOUL, MEMORY)
    text = await context.freeze()
    frozen_us = clock.now_us
    clock.advance(1)
    await context.replace("memory", "a")
    standing = await context.standing()
    assert standing is not None
    note = BlockNote(message="m", text="told", blocks={"memory": "digest"})
    assert await context.keep_note(note, standing)
    assert not await context.keep_note(note, standing)
    kept = await make(SOUL, MEMORY).standing()
    assert kept is not None
    assert kept.frozen.notes == [note]
    assert await context.freeze() == text
    [change] = (await context.cache_report()).changes
    assert change.at_us == frozen_us
    await context.refresh()
    anew = await context.standing()
    assert anew is not None
    assert anew.frozen.notes == []


async def test_of_too_many_notes_the_oldest_go(make: Make) -> None:
    context = make(SOUL)
    await context.freeze()
    for number in range(40):
        standing = await context.standing()
        assert standing is not None
        note = BlockNote(message=f"{number}", text="x" * 2_000, blocks={})
        assert await context.keep_note(note, standing)
    standing = await context.standing()
    assert standing is not None
    left = [int(it.message) for it in standing.frozen.notes]
    assert left == list(range(left[0], 40))
    assert 16 <= len(left) <= 32


async def test_where_nothing_can_be_written_it_is_told_all_the_same(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make(SOUL)
    await context.freeze()
    standing = await context.standing()
    assert standing is not None

    async def refuse(*args: object, **more: object) -> None:
        raise ReadOnlyError("no")

    monkeypatch.setattr(context.store, "put_document", refuse)
    assert await context.keep_note(BlockNote(message="m", text="t", blocks={}), standing)
