"""The few things in which the suite's twins differ by more than a word.

The names beginning with `Async` are used in the source; the generator drops that word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import pytest

from ..store import AsyncStore, Store

T = TypeVar("T")

AsyncReopen = Callable[[], Awaitable[AsyncStore]]
"""Closes the store and opens it again on what it had stored."""
Reopen = Callable[[], Store]
"""Closes the store and opens it again on what it had stored."""

AsyncCall = Callable[[AsyncStore, str, str], Awaitable[Any]]
"""A call of one method, given the store, an owner and a session."""
Call = Callable[[Store, str, str], Any]
"""A call of one method, given the store, an owner and a session."""

TakeOut = Callable[[str, str, str], None]
"""Removes a stored message, of an owner's session by its id, behind the store's back."""


class AsyncTwin:
    """The async suite's own ways."""

    name = "async"
    marks = [pytest.mark.asyncio]

    @staticmethod
    async def together(jobs: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Run jobs at the same time, as tasks; return their results in order."""
        return list(await asyncio.gather(*(job() for job in jobs)))


class Twin:
    """The sync suite's own ways."""

    name = "sync"
    marks: list[pytest.MarkDecorator] = []

    @staticmethod
    def together(jobs: Sequence[Callable[[], T]]) -> list[T]:
        """Run jobs at the same time, in threads; return their results in order."""
        barrier = Barrier(len(jobs))

        def start(job: Callable[[], T]) -> T:
            barrier.wait()
            return job()

        with ThreadPoolExecutor(len(jobs)) as pool:
            return list(pool.map(start, jobs))
