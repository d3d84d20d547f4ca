from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar
from typing import Any

import pytest

from sapwood.calls import AsyncCall, Call
from sapwood.errors import UsageError


async def later(value: int) -> int:
    await asyncio.sleep(0)
    return value


class Later:
    async def __call__(self, value: int) -> int:
        return await later(value)


def fail(value: int) -> int:
    raise KeyError(value)


async def hang(value: int) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("function", [later, Later(), lambda value: value, lambda v: later(v)])
async def test_plain_and_awaitable_functions_are_called_alike(function: Any) -> None:
    assert await AsyncCall.now(function, 3) == 3
    assert await AsyncCall.within(5, function, 3) == 3
    assert await AsyncCall.within(None, function, 3) == 3


async def test_a_plain_function_runs_on_the_loop_unless_a_thread_is_asked_for() -> None:
    assert await AsyncCall.within(None, asyncio.get_running_loop) is asyncio.get_running_loop()
    with pytest.raises(RuntimeError, match="no running event loop"):
        await AsyncCall.within(None, asyncio.get_running_loop, in_thread=True)


async def test_a_function_in_a_thread_sees_the_callers_context() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("here")
    assert await AsyncCall.within(None, variable.get, in_thread=True) == "here"


async def test_a_plain_function_in_a_thread_does_not_hold_up_the_loop() -> None:
    released = threading.Event()
    waiting = asyncio.ensure_future(AsyncCall.within(None, released.wait, in_thread=True))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    released.set()
    assert await waiting is True


async def test_errors_come_through_on_a_loop() -> None:
    for call in (AsyncCall.now(fail, 1), AsyncCall.within(None, fail, 1)):
        with pytest.raises(KeyError):
            await call


async def test_what_hangs_is_given_up_on_a_loop() -> None:
    for function in (hang, lambda _: threading.Event().wait()):
        with pytest.raises(TimeoutError):
            await AsyncCall.within(0.01, function, 1)


def test_what_hangs_is_given_up() -> None:
    with pytest.raises(TimeoutError, match=r"0\.01 s"):
        Call.within(0.01, time.sleep, 60)


def test_plain_functions_are_called() -> None:
    assert Call.now(abs, -1) == Call.within(None, abs, -1) == Call.within(5, abs, -1) == 1
    for seconds in (None, 5):
        with pytest.raises(KeyError):
            Call.within(seconds, fail, 1)


def test_what_has_to_be_awaited_is_refused_without_a_loop() -> None:
    for call in (Call.now, lambda f, v: Call.within(5, f, v)):
        with pytest.raises(UsageError, match="async twin"):
            call(later, 1)


async def test_a_thread_that_raises_stop_iteration_is_heard() -> None:
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        async with asyncio.timeout(30):
            await AsyncCall.within(None, lambda: next(iter(())), in_thread=True)


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_function_that_was_cancelled_itself_does_not_cancel_its_caller(
    in_thread: bool,
) -> None:
    def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="raised CancelledError"):
        await AsyncCall.within(None, give_up, in_thread=in_thread)


async def test_a_caller_that_is_cancelled_is_so_while_it_waits_for_a_function() -> None:
    waiting = asyncio.ensure_future(AsyncCall.within(60, hang, 1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
