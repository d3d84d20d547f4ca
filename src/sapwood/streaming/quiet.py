"""Waiting for events no longer than some time; `AsyncQuiet` is for the async twin."""

from __future__ import annotations

import queue
import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class AsyncQuiet:
    """Waits on an event loop."""

    @staticmethod
    async def of(items: AsyncIterable[T], seconds: float) -> AsyncIterator[T | None]:
        """Yield the items, and None whenever none came for so long.

        One task reads them, ahead by one at most: what is open in them may belong to its task.
        """
        import asyncio

        come: asyncio.Queue[T] = asyncio.Queue(1)
        reading = asyncio.create_task(_put_all(items, come))
        waiting = asyncio.create_task(come.get())
        try:
            while True:
                await asyncio.wait(
                    (waiting, reading), timeout=seconds, return_when="FIRST_COMPLETED"
                )
                if waiting.done():
                    yield waiting.result()
                    waiting = asyncio.create_task(come.get())
                elif not reading.done():
                    yield None
                elif come.empty():
                    break
            await reading
        finally:
            waiting.cancel()
            reading.cancel()
            await asyncio.wait((waiting, reading))


async def _put_all(items: AsyncIterable[T], come: asyncio.Queue[T]) -> None:
    try:
        async for item in items:
            await come.put(item)
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


class Quiet:
    """Waits without an event loop."""

    @staticmethod
    def of(items: Iterable[T], seconds: float) -> Iterator[T | None]:
        """Yield the items, and None whenever none came for so long.

        A thread reads them, ahead by one at most; who leaves early ends it at the next item.
        """
        come: queue.Queue[tuple[Any, ...]] = queue.Queue(1)
        is_left = threading.Event()
        threading.Thread(target=_read_all, args=(items, come, is_left), daemon=True).start()
        try:
            while True:
                try:
                    kind, item = come.get(timeout=seconds)
                except queue.Empty:
                    yield None
                    continue
                if kind == "end":
                    break
                if kind == "error":
                    raise item
                yield item
        finally:
            is_left.set()
            # The thread may be waiting to hand on an item.
            while not come.empty():
                come.get_nowait()


def _read_all(
    items: Iterable[Any], come: queue.Queue[tuple[Any, ...]], is_left: threading.Event
) -> None:
    last: tuple[Any, ...] = ("end", None)
    try:
        with closing(items) if hasattr(items, "close") else nullcontext():  # type: ignore[type-var]
            for item in items:
                come.put(("item", item))
                if is_left.is_set():
                    break
    except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
        last = ("error", error)
    if not is_left.is_set():
        come.put(last)
