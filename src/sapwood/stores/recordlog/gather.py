"""Records that arrive together go out together.

`AsyncGather` is for the async twin and `Gather` for the sync one; they have the same methods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ..base.sending import AsyncSending
from .stored import Stored

MOST_AT_ONCE = 64

Told = bool | Exception
"""What became of a document: whether it is new, or why it was refused."""


def is_new(told: Told) -> bool:
    """Tell whether a document is new; raise the error if it was refused."""
    if isinstance(told, Exception):
        raise told
    return told


class AsyncGather(AsyncSending[Stored, Told]):
    """Gathers what arrives while others are being sent, for an event loop."""

    def __init__(self, send: Callable[[Sequence[Stored]], Awaitable[Sequence[Told]]]) -> None:
        super().__init__(send, lambda document: len(document.data), MOST_AT_ONCE)

    async def add(self, document: Stored) -> bool:
        """Send a document, maybe with others."""
        return is_new(await self.queue(document))


class Gather:
    """Sends each by itself, for threads."""

    def __init__(self, send: Callable[[Sequence[Stored]], Sequence[Told]]) -> None:
        self._send = send

    def add(self, document: Stored) -> bool:
        """Send a document."""
        return is_new(self._send([document])[0])
