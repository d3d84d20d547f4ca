"""Records that arrive together go out together.

`AsyncGather` is for the async twin and `Gather` for the sync one; they have the same methods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from .stored import Stored

if TYPE_CHECKING:
    import asyncio

MOST_AT_ONCE = 64
MOST_BYTES = 2 * 1024 * 1024
MOST_SENDERS = 4


Told = bool | Exception
"""What became of a document: whether it is new, or why it was refused."""


def is_new(told: Told) -> bool:
    """Tell whether a document is new; raise the error if it was refused."""
    if isinstance(told, Exception):
        raise told
    return told


class AsyncGather:
    """Gathers what arrives while others are being sent, for an event loop."""

    def __init__(self, send: Callable[[Sequence[Stored]], Awaitable[Sequence[Told]]]) -> None:
        self._send = send
        self._waiting: list[tuple[Stored, asyncio.Future[Told]]] = []
        self._senders: set[asyncio.Task[None]] = set()
        self._sending = 0

    async def add(self, document: Stored) -> bool:
        """Send a document, maybe with others."""
        import asyncio

        outcome: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._waiting.append((document, outcome))
        if self._sending < MOST_SENDERS:
            self._start_sender()
        return is_new(await outcome)

    def _start_sender(self) -> None:
        import asyncio

        self._sending += 1
        sender = asyncio.create_task(self._send_waiting())
        self._senders.add(sender)
        sender.add_done_callback(self._sender_ended)

    def _sender_ended(self, sender: asyncio.Task[None]) -> None:
        self._senders.discard(sender)
        if sender.cancelled():
            # Before it began, as a loop that ends does: whoever comes after needs a sender.
            self._sending -= 1
            self._waiting = [it for it in self._waiting if not it[1].done()]
            if self._waiting:
                self._start_sender()

    async def _send_waiting(self) -> None:
        while self._waiting:
            group = self._next_group()
            try:
                answers = await self._send([document for document, _ in group])
            except BaseException as error:  # noqa: BLE001 - raised by those who wait for it
                for _, outcome in group:
                    if not outcome.done():
                        outcome.set_exception(error)
            else:
                for (_, outcome), answer in zip(group, answers, strict=True):
                    if not outcome.done():
                        outcome.set_result(answer)
        # At once, and not when the task is cleared away: who comes between needs a sender.
        self._sending -= 1

    def _next_group(self) -> list[tuple[Stored, asyncio.Future[Told]]]:
        count, size = 0, 0
        for document, _ in self._waiting[:MOST_AT_ONCE]:
            size += len(document.data)
            if count and size > MOST_BYTES:
                break
            count += 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group


class Gather:
    """Sends each by itself, for threads."""

    def __init__(self, send: Callable[[Sequence[Stored]], Sequence[Told]]) -> None:
        self._send = send

    def add(self, document: Stored) -> bool:
        """Send a document."""
        return is_new(self._send([document])[0])
