"""Calling what users supply: functions and methods that may or may not have to be awaited.

`AsyncCall` is for the async twins and `Call` for the sync ones; they have the same methods.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from .errors import UsageError
from .event_loop import reminding_all, warn_on_loop

if TYPE_CHECKING:
    import asyncio


T = TypeVar("T")

AsyncAnswer = Awaitable[T]
"""What a function gives that the async twin awaits; `Answer` is what the sync twin is given."""
Answer = Annotated[T, "at once"]


class AsyncCall:
    """Calls on an event loop."""

    awaits = True
    """Whether what has to be awaited can be called."""

    reminding = staticmethod(reminding_all)
    """Let a class's methods say that they have to be awaited, where that was forgotten."""

    @staticmethod
    def warn_on_loop() -> None:
        """Do nothing: a loop is where it belongs."""

    @staticmethod
    async def now(function: Callable[..., Any], *args: Any) -> Any:
        """Call something short, and await what it gives if that has to be awaited."""
        value = function(*args)
        return await value if inspect.isawaitable(value) else value

    @staticmethod
    async def within(
        seconds: float | None, function: Callable[..., Any], *args: Any, in_thread: bool = False
    ) -> Any:
        """Call something that may take long; `TimeoutError` after so many seconds.

        A plain function runs on the loop. If it raises `CancelledError` and nobody cancelled its
        caller, that becomes a `RuntimeError`. With a limit, or `in_thread`, it runs in a thread, so
        that the loop goes on.
        """
        import asyncio

        is_moved = (in_thread or seconds is not None) and not has_to_be_awaited(function)
        async with asyncio.timeout(seconds):
            try:
                if is_moved:
                    value = await _in_thread(asyncio.get_running_loop(), function, args)
                else:
                    value = function(*args)
                return await value if inspect.isawaitable(value) else value
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # Nobody cancelled the caller, which is to hear of it as of any other failure.
                raise RuntimeError(f"{function!r} raised CancelledError") from error

    @staticmethod
    async def all_of(works: Sequence[Callable[[], AsyncAnswer[T]]]) -> list[T]:
        """Do all at once; one that fails ends the others, and a caller that is cancelled all."""
        import asyncio

        tasks = [asyncio.ensure_future(work()) for work in works]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class Call:
    """Calls without an event loop."""

    awaits = False

    @staticmethod
    def reminding(kind: type[T]) -> type[T]:
        """Return the class itself: there is nothing to await."""
        return kind

    warn_on_loop = staticmethod(warn_on_loop)
    """Warn, once, that a call which blocks is made on a running event loop."""

    @staticmethod
    def now(function: Callable[..., Any], *args: Any) -> Any:
        """Call something short."""
        return _refuse_awaitable(function(*args), function)

    @staticmethod
    def within(
        seconds: float | None,
        function: Callable[..., Any],
        *args: Any,
        in_thread: bool = False,
    ) -> Any:
        """Call something that may take long; `TimeoutError` after so many seconds.

        With a limit it runs in a thread, which is left to itself when the time is over.
        """
        if seconds is None:
            return _refuse_awaitable(function(*args), function)
        outcome: list[tuple[bool, Any]] = []
        thread = threading.Thread(target=_keep_outcome, args=(outcome, function, args), daemon=True)
        thread.start()
        thread.join(seconds)
        if not outcome:
            raise TimeoutError(f"there was no answer within {seconds} s")
        went_well, value = outcome[0]
        if not went_well:
            raise cast(BaseException, value)
        return _refuse_awaitable(value, function)

    @staticmethod
    def all_of(works: Sequence[Callable[[], T]]) -> list[T]:
        """Do all at once, in threads; all of them end before an error is raised."""
        if len(works) == 1:
            return [works[0]()]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max(1, len(works))) as pool:
            futures = [pool.submit(copy_context().run, work) for work in works]
        return [future.result() for future in futures]


def has_to_be_awaited(function: Callable[..., Any]) -> bool:
    """Whether it can be seen that what a function gives has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def _refuse_awaitable(value: Any, function: Callable[..., Any]) -> Any:
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise UsageError(
            f"{function!r} has to be awaited: use the async twin, or give a plain function"
        )
    return value


def _keep_outcome(
    outcome: list[tuple[bool, Any]], function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    try:
        outcome.append((True, function(*args)))
    except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
        outcome.append((False, error))


async def _in_thread(
    loop: asyncio.AbstractEventLoop, function: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """Run a function in a thread of its own: one that hangs must not hold up the loop's end."""
    future: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(went_well: bool, value: Any) -> None:
        if future.done():
            return
        if went_well:
            future.set_result(value)
        elif isinstance(value, StopIteration):
            # A future refuses it, and whoever waits would never be told.
            error = RuntimeError(f"{function!r} raised StopIteration")
            error.__cause__ = value
            future.set_exception(error)
        else:
            future.set_exception(value)

    def run() -> None:
        outcome: list[tuple[bool, Any]] = []
        context.run(_keep_outcome, outcome, function, args)
        # A closed loop raises, and means that nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *outcome[0])

    threading.Thread(target=run, daemon=True).start()
    return await future
