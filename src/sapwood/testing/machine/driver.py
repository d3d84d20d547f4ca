"""Calls a store of either twin in the same way, and opens it where it stands."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Any, Protocol

from ...store import AsyncStore, Store


class Place(Protocol):
    """Where a store under test lives, from one opening to the next."""

    def open(self) -> Store | AsyncStore:
        """Open the store here, on what it had stored; the first time it is empty."""

    def discard(self) -> None:
        """Remove what is left, after the store was closed."""


class Driver:
    """Makes calls; those of an async store run on a loop of its own."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._loop = asyncio.Runner()
        self.store = self._open()

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the store, and wait for its outcome."""
        return self._finish(getattr(self.store, method)(*args, **options))

    def check(self) -> Any:
        """Let the store look for damage."""
        return self._finish(self.store.admin.check())

    def reopen(self) -> None:
        """Close the store, and open it again."""
        self._close()
        self.store = self._open()

    def end(self) -> None:
        """Close the store, and leave nothing behind."""
        self._close()
        self._loop.close()
        self._place.discard()

    def _open(self) -> Store | AsyncStore:
        async def open_on_the_loop() -> Store | AsyncStore:
            return self._place.open()

        return self._loop.run(open_on_the_loop())

    def _close(self) -> None:
        self.call("aclose" if isinstance(self.store, AsyncStore) else "close")

    def _finish(self, result: Any) -> Any:
        return self._loop.run(_wait(result)) if inspect.isawaitable(result) else result


async def _wait(result: Awaitable[Any]) -> Any:
    return await result
