"""A lease is renewed while its holder is at work, and who lost it is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sapwood.errors import NotFoundError, StaleVersionError, StoreUnavailableError
from sapwood.session.heartbeat import BEATS, AsyncHeartbeat, Heartbeat

PATIENCE_S = 60.0
LONG_S = 3600.0
SHORT_S = 0.03


class Clock:
    """A monotonic clock that stands still between two looks, unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Renewals:
    """A store that renews a lease, or fails; it says when it was asked so often."""

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda n: None) -> None:
        self._outcome = outcome
        self.count = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()
        error = self._outcome(self.count)
        if error is not None:
            raise error

    async def later(self) -> None:
        await asyncio.sleep(0)
        self()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.count >= count, PATIENCE_S)


def failing(error: Exception) -> Renewals:
    return Renewals(lambda n: error)


def drive(heartbeat: Any, renewals: Renewals, until: Callable[[], object]) -> None:
    """Let a heartbeat of either twin beat in the meantime."""
    if isinstance(heartbeat, Heartbeat):
        heartbeat.start(renewals)
        until()
        heartbeat.stop()
        return

    async def go() -> None:
        heartbeat.start(renewals.later)
        await asyncio.to_thread(until)
        await heartbeat.stop()

    asyncio.run(go())


TWINS = pytest.mark.parametrize("make", [Heartbeat, AsyncHeartbeat])


@TWINS
def test_a_lease_is_renewed_again_and_again(make: Any) -> None:
    renewals = Renewals()
    drive(make(SHORT_S), renewals, lambda: renewals.wait_for(4))
    count = renewals.count
    threading.Event().wait(3 * SHORT_S)
    assert renewals.count == count


@TWINS
def test_it_is_held_for_as_long_as_was_asked_for_before_it_was_taken(make: Any) -> None:
    clock = Clock()
    heartbeat = make(60.0, clock=clock)
    clock.now += 59.9
    assert heartbeat.is_held
    clock.now += 0.1
    assert not heartbeat.is_held


@TWINS
def test_it_is_first_renewed_after_a_third_of_its_time(make: Any) -> None:
    clock = Clock()
    heartbeat = make(60.0, clock=clock)
    assert heartbeat._wait_s() == pytest.approx(60 / BEATS)
    clock.now += 30
    assert heartbeat._is_due()
    heartbeat._renewed(heartbeat._begin())
    assert heartbeat._wait_s() == pytest.approx(60 / BEATS)
    clock.now += 59
    assert heartbeat.is_held


@TWINS
@pytest.mark.parametrize("error", [StaleVersionError("taken"), NotFoundError("", kind="", id="")])
def test_who_lost_the_lease_to_somebody_is_told_once_and_it_is_not_renewed_again(
    make: Any, error: Exception
) -> None:
    told, renewals = threading.Event(), failing(error)
    calls: list[bool] = []

    def lost() -> None:
        calls.append(heartbeat.is_held)
        told.set()

    # By its clock it would be held for long.
    heartbeat = make(LONG_S, on_lost=lost)
    heartbeat._next_at = 0.0
    drive(heartbeat, renewals, lambda: told.wait(PATIENCE_S))
    assert (calls, renewals.count, heartbeat.is_held) == ([False], 1, False)


@TWINS
def test_a_store_that_fails_loses_the_lease_when_its_time_is_over_and_not_before(make: Any) -> None:
    clock, told = Clock(), threading.Event()
    renewals = failing(StoreUnavailableError("away"))
    heartbeat = make(SHORT_S, on_lost=told.set, clock=clock)

    def until() -> None:
        clock.now += SHORT_S / 2
        renewals.wait_for(1)
        assert heartbeat.is_held
        assert not told.is_set()
        clock.now += SHORT_S / 2
        assert told.wait(PATIENCE_S)

    drive(heartbeat, renewals, until)
    assert not heartbeat.is_held


@TWINS
def test_what_was_renewed_late_is_held_again(make: Any) -> None:
    clock, told = Clock(), threading.Event()
    away = threading.Event()
    away.set()
    renewals = Renewals(lambda n: StoreUnavailableError("away") if away.is_set() else None)
    heartbeat = make(SHORT_S, on_lost=told.set, clock=clock)

    def until() -> None:
        clock.now += 2 * SHORT_S
        assert told.wait(PATIENCE_S)
        assert not heartbeat.is_held
        away.clear()
        while not heartbeat.is_held:
            clock.now += SHORT_S / 100
            threading.Event().wait(0.005)

    drive(heartbeat, renewals, until)


@TWINS
def test_a_holder_that_cannot_be_told_ends_nothing(
    make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("no")

    clock, renewals = Clock(), failing(StoreUnavailableError("away"))
    heartbeat = make(SHORT_S, on_lost=fail, clock=clock)

    def until() -> None:
        clock.now += 2 * SHORT_S
        renewals.wait_for(1)

    drive(heartbeat, renewals, until)
    assert "could not be told" in caplog.text


def test_no_thread_is_left_behind() -> None:
    before = threading.enumerate()
    heartbeat, renewals = Heartbeat(SHORT_S), Renewals()
    heartbeat.start(renewals)
    renewals.wait_for(1)
    heartbeat.stop()
    assert threading.enumerate() == before


async def test_no_task_is_left_behind_though_its_holder_is_cancelled_while_it_is_renewed() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def renew() -> None:
        begun.set()
        await go_on.wait()
        done.append("renewed")

    heartbeat = AsyncHeartbeat(SHORT_S)
    heartbeat.start(renew)
    await begun.wait()
    stopping = asyncio.ensure_future(heartbeat.stop())
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.sleep(0)
    assert not stopping.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert done == ["renewed"]
    assert asyncio.all_tasks() == {asyncio.current_task()}
