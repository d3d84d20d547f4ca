"""Versions of a stored block, undo, and races."""

from __future__ import annotations

import pytest

from sapwood.context import AsyncContext, BlockConfig
from sapwood.errors import NotFoundError, StaleVersionError
from sapwood.model import ForkPoint, NewSession
from sapwood.store import AsyncStore
from sapwood.testing import ManualClock

from .conftest import Make

MEMORY = BlockConfig("memory", default="Nothing.")


async def test_undo_goes_back_one_write_at_a_time(make: Make) -> None:
    context = make(MEMORY)
    for text in ("a", "b", "c"):
        await context.replace("memory", text, origin=f"user {text}")
    back = await context.undo("memory")
    assert (back.content, back.origin) == ("b", "user b")
    assert (await make(MEMORY).undo("memory")).content == "a"
    gone = await context.undo("memory")
    assert (gone.content, gone.origin) == ("Nothing.", "default")
    with pytest.raises(NotFoundError) as raised:
        await context.undo("memory")
    assert raised.value.kind == "version"


async def test_a_write_after_undo_goes_on_from_there(make: Make) -> None:
    context = make(MEMORY)
    for text in ("a", "b"):
        await context.replace("memory", text)
    await context.undo("memory")
    await context.replace("memory", "c")
    assert [(await context.undo("memory")).content for _ in range(2)] == ["a", "Nothing."]


async def test_nothing_to_undo_in_an_unwritten_block(make: Make) -> None:
    with pytest.raises(NotFoundError):
        await make(MEMORY).undo("memory")


async def test_versions_tell_what_was_when_and_by_whom(make: Make, clock: ManualClock) -> None:
    context = make(MEMORY)
    start = clock.now_us
    await context.replace("memory", "a")
    clock.advance(1)
    await context.replace("memory", "b", origin="model")
    clock.advance(1)
    await context.undo("memory")
    versions = await context.versions("memory")
    assert [(it.content, it.origin, it.undone) for it in versions] == [
        ("a", "user", False),
        ("b", "model", True),
    ]
    assert [it.at_us - start for it in versions] == [2_000_000, 1_000_000]
    assert versions[0].version > versions[1].version
    assert versions[0].version == (await context.block("memory")).version
    assert {it.by for it in versions} == {"chat"}
    assert versions[0].at.tzinfo is not None


async def test_the_last_twenty_are_kept(make: Make) -> None:
    context = make(MEMORY)
    for number in range(30):
        await context.replace("memory", f"{number}")
    versions = await context.versions("memory")
    assert [it.content for it in versions] == [f"{number}" for number in range(29, 8, -1)]


async def test_what_is_kept_has_a_bound_in_bytes(make: Make, store: AsyncStore) -> None:
    context = make(MEMORY)
    for number in range(6):
        await context.replace("memory", f"{number}" * 400_000)
    assert len(await context.versions("memory")) == 3
    await context.replace("memory", "x" * 6_000_000)
    await context.replace("memory", "y" * 6_000_000)
    document = await store.find_document("ada", "block/memory", session="chat")
    assert document is not None
    assert len(document.value) < 7_000_000
    with pytest.raises(NotFoundError):
        await context.undo("memory")


async def test_a_fork_takes_the_block_and_goes_its_own_way(make: Make, store: AsyncStore) -> None:
    context = make(MEMORY)
    await context.replace("memory", "a")
    await context.replace("memory", "b")
    await store.create_session("ada", NewSession(id="fork", fork=ForkPoint(session="chat")))
    forked = make(MEMORY, session="fork")
    assert (await forked.undo("memory")).content == "a"
    assert (await context.block("memory")).content == "b"


class Race:
    """Lets another writer through between a read and the write after it, so many times."""

    def __init__(self, other: AsyncContext, times: int) -> None:
        self.other = other
        self.times = times

    async def __call__(self) -> None:
        if self.times:
            self.times -= 1
            await self.other.append("memory", f"other {self.times}")


async def test_no_append_is_lost_in_a_race(make: Make) -> None:
    config = BlockConfig("memory")
    race = Race(make(config), 3)
    block = await make(config, before_write=race).append("memory", "mine")
    assert block.content == "other 2\nother 1\nother 0\nmine"
    assert await make(config).block("memory") == block


async def test_a_replace_after_a_lost_race_keeps_what_it_replaces(make: Make) -> None:
    config = BlockConfig("memory")
    context = make(config, before_write=Race(make(config), 1))
    assert (await context.replace("memory", "mine")).content == "mine"
    assert (await context.undo("memory")).content == "other 0"


async def test_a_limit_is_checked_again_after_a_lost_race(make: Make) -> None:
    config = BlockConfig("memory", max_tokens=10)
    context = make(config, before_write=Race(make(config, counter=len), 1), counter=len)
    with pytest.raises(ValueError, match="limit is 10"):
        await context.append("memory", "mine")
    assert (await make(config).block("memory")).content == "other 0"


async def test_an_expected_version_is_not_tried_again(make: Make) -> None:
    config = BlockConfig("memory")
    context = make(config, before_write=Race(make(config), 1))
    with pytest.raises(StaleVersionError):
        await context.append("memory", "mine", expected_version=0)
    assert (await make(config).block("memory")).content == "other 0"


async def test_undo_does_not_take_back_what_nobody_saw(make: Make) -> None:
    config = BlockConfig("memory")
    await make(config).replace("memory", "a")
    context = make(config, before_write=Race(make(config), 1))
    with pytest.raises(StaleVersionError):
        await context.undo("memory")
    assert (await make(config).block("memory")).content == "a\nother 0"
