"""What belongs to an event loop: made for each, and closed on it."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref

import pytest

from sapwood.errors import ClosedError, UsageError
from sapwood.stores.base.loops import AsyncPerLoop


class Thing:
    """Something that notes on which loop it was closed, and how often that was finished."""

    def __init__(self) -> None:
        self.closed_on: list[asyncio.AbstractEventLoop] = []
        self.finished = 0

    async def aclose(self) -> None:
        self.closed_on.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        self.finished += 1


async def close(thing: Thing) -> None:
    await thing.aclose()


async def here(things: AsyncPerLoop[Thing]) -> Thing:
    return things.here()


def test_a_loop_has_one_thing_which_is_closed_on_it_when_it_ends() -> None:
    things = AsyncPerLoop(Thing, close)

    async def use() -> tuple[Thing, asyncio.AbstractEventLoop]:
        assert things.here() is things.here()
        return things.here(), asyncio.get_running_loop()

    (first, one), (second, two) = asyncio.run(use()), asyncio.run(use())
    assert first is not second
    assert (first.closed_on, second.closed_on) == ([one], [two])
    asyncio.run(things.aclose())
    assert (first.finished, second.finished) == (1, 1)


def test_what_no_loop_used_is_closed_too() -> None:
    made: list[Thing] = []

    def make() -> Thing:
        made.append(Thing())
        return made[-1]

    things = AsyncPerLoop(make, close)
    asyncio.run(things.aclose())
    asyncio.run(things.aclose())
    assert [it.finished for it in made] == [1]
    with pytest.raises(ClosedError):
        asyncio.run(here(things))


def test_a_loop_that_rests_closes_its_own_when_it_goes_on() -> None:
    things = AsyncPerLoop(Thing, close)
    with asyncio.Runner() as resting:
        mine = resting.run(here(things))
        asyncio.run(things.aclose())
        assert mine.closed_on == []
        with pytest.raises(ClosedError):
            resting.run(here(things))
        loop = resting.get_loop()
    # It was broken off as the loop ended, and done once more.
    assert (set(mine.closed_on), mine.finished) == ({loop}, 1)


def test_a_loop_that_was_closed_by_hand_is_forgotten_and_in_nobodys_way() -> None:
    things = AsyncPerLoop(Thing, close)
    left: list[weakref.ref[Thing]] = []
    for _ in range(3):
        loop = asyncio.new_event_loop()
        left.append(weakref.ref(loop.run_until_complete(here(things))))
        loop.close()
    gc.collect()
    assert [it() is None for it in left] == [True, True, False]
    asyncio.run(things.aclose())


async def test_a_loop_that_runs_closes_its_own_when_another_one_closes_all() -> None:
    things = AsyncPerLoop(Thing, close)
    mine = things.here()
    await asyncio.to_thread(lambda: asyncio.run(things.aclose()))
    assert (mine.closed_on, mine.finished) == ([asyncio.get_running_loop()], 1)


def test_what_is_given_is_of_the_first_loop_that_uses_it() -> None:
    things = AsyncPerLoop(Thing, close, given="client")
    with asyncio.Runner() as first:
        mine = first.run(here(things))
        with pytest.raises(UsageError, match="the client that the store was given"):
            asyncio.run(here(things))
        assert first.run(here(things)) is mine
    with pytest.raises(UsageError):
        asyncio.run(here(things))


def test_what_outlives_its_loop_may_be_used_on_another_one_after_it() -> None:
    things = AsyncPerLoop(Thing, close, given="engine", outlives=True)
    with asyncio.Runner() as first:
        first.run(here(things))
        with pytest.raises(UsageError, match="engine"):
            asyncio.run(here(things))
    asyncio.run(here(things))


def test_what_cannot_be_closed_is_logged_and_holds_up_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(thing: Thing) -> None:
        raise OSError("no")

    things = AsyncPerLoop(Thing, fail)

    async def use_and_close() -> None:
        things.here()
        await things.aclose()

    with caplog.at_level(logging.WARNING):
        asyncio.run(use_and_close())
    assert "could not be closed" in caplog.text


async def test_a_caller_that_is_cancelled_closes_all_the_same() -> None:
    things = AsyncPerLoop(Thing, close)
    mine = things.here()
    closing = asyncio.create_task(things.aclose())
    await asyncio.sleep(0)
    assert mine.closed_on
    closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()
    assert mine.finished == 1
