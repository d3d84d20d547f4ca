"""Answers that come in pieces: begun while an error can still be mended, then handed on.

Clients send their request when a stream is entered or first iterated, so that is when a server
says that the input is too long. `AsyncStreams` is for the async twin, `Streams` for the sync one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncContextDecorator, ContextDecorator, suppress
from typing import Any, Self

from ..calls import AsyncCall


class AsyncStreams:
    """Begins streams on an event loop."""

    @staticmethod
    async def begin(value: Any, *, in_thread: bool = False) -> Any:
        """Fetch an iterator's first item, or enter a context manager; return what is neither.

        What comes back is used as the stream itself would be, from its first item on. A plain one
        is begun on the loop, or `in_thread`.
        """
        if isinstance(value, AsyncIterator) and not _is_file(value):
            return await AsyncBegunIterator(value).fetched()
        if _is_manager(value, "__aenter__", "__aexit__"):
            return AsyncEnteredStream(value, await value.__aenter__())
        if _is_stream(value):
            return await AsyncCall.within(None, Streams.begin, value, in_thread=in_thread)
        return value


class Streams:
    """Begins streams without an event loop."""

    @staticmethod
    def begin(value: Any, *, in_thread: bool = False) -> Any:
        """Fetch an iterator's first item, or enter a context manager; return what is neither.

        What comes back is used as the stream itself would be, from its first item on.
        """
        if not _is_stream(value):
            return value
        if isinstance(value, Iterator):
            return BegunIterator(value).fetched()
        return EnteredStream(value, value.__enter__())


def _is_stream(value: Any) -> bool:
    if isinstance(value, Iterator):
        return not _is_file(value)
    return _is_manager(value, "__enter__", "__exit__")


def _is_file(value: Any) -> bool:
    """Whether it is read as a whole, too: a file, a response, and what stands in for one."""
    return hasattr(value, "read")


def _is_manager(value: Any, *names: str) -> bool:
    """Whether there is nothing to do with it but to enter it.

    Anything else with these names is an answer that can be used as it is, and closed.
    """
    # As Python itself looks them up: on the type.
    if not all(hasattr(type(value), name) for name in names):
        return False
    # Those that are made from generators show what they were made from.
    if isinstance(value, (ContextDecorator, AsyncContextDecorator)):
        return True
    return all(name.startswith("_") for name in dir(value))


class _BegunStream:
    """Has all that a stream shows."""

    def __init__(self, stream: Any, entered: Any = None) -> None:
        self._stream = stream
        self._entered = entered

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            # A copy is asked for such names before it has a stream.
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._stream, name)

    def _instead_of(self, entered: Any) -> Any:
        """Return what a `with` is given: most iterators return themselves."""
        return self if entered is self._stream else entered


class AsyncBegunIterator(_BegunStream):
    """An async iterator whose first item was fetched, and comes first."""

    async def fetched(self) -> Self:
        """Fetch the first item; there may be none."""
        self._held: list[Any] = []
        with suppress(StopAsyncIteration):
            self._held.append(await anext(self._stream))
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._held.pop() if self._held else await anext(self._stream)

    async def __aenter__(self) -> Any:
        return self._instead_of(await self._stream.__aenter__())

    async def __aexit__(self, *details: Any) -> Any:
        return await self._stream.__aexit__(*details)


class BegunIterator(_BegunStream):
    """An iterator whose first item was fetched, and comes first."""

    def fetched(self) -> Self:
        """Fetch the first item; there may be none."""
        self._held: list[Any] = []
        with suppress(StopIteration):
            self._held.append(next(self._stream))
        return self

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self._held.pop() if self._held else next(self._stream)

    def __enter__(self) -> Any:
        return self._instead_of(self._stream.__enter__())

    def __exit__(self, *details: Any) -> Any:
        return self._stream.__exit__(*details)


class AsyncEnteredStream(_BegunStream):
    """An async context manager that was entered: once, however it is used."""

    async def __aenter__(self) -> Any:
        return self._entered

    async def __aexit__(self, *details: Any) -> Any:
        return await self._stream.__aexit__(*details)

    def __aiter__(self) -> Any:
        return aiter(self._entered)


class EnteredStream(_BegunStream):
    """A context manager that was entered: once, however it is used."""

    def __enter__(self) -> Any:
        return self._entered

    def __exit__(self, *details: Any) -> Any:
        return self._stream.__exit__(*details)

    def __iter__(self) -> Any:
        return iter(self._entered)
