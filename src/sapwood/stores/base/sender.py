"""What arrives while others are being sent goes out together with the next, on an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio

MOST_BYTES = 2 * 1024 * 1024
MOST_SENDERS = 4

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def fitting(sizes: Iterable[int]) -> int:
    """Return how many of the first go out together: a large one by itself."""
    count, total = 0, 0
    for size in sizes:
        total += size
        if count and total > MOST_BYTES:
            break
        count += 1
    return count


class AsyncGroupSender(Generic[Item, Answer]):
    """A few tasks that send what waits, a group at a time."""

    most_senders = MOST_SENDERS

    def __init__(
        self,
        send: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
        size_of: Callable[[Item], int],
        most_at_once: int,
    ) -> None:
        self._send = send
        self._size_of = size_of
        self._most_at_once = most_at_once
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._senders: set[asyncio.Task[None]] = set()
        self._sending = 0

    def queue(self, item: Item) -> asyncio.Future[Answer]:
        """Let something be sent; return what its outcome will be in."""
        import asyncio

        outcome: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, outcome))
        if self._sending < self.most_senders:
            self._start_sender()
        return outcome

    def _start_sender(self) -> None:
        import asyncio

        self._sending += 1
        sender = asyncio.create_task(self._send_waiting())
        self._senders.add(sender)
        sender.add_done_callback(self._sender_ended)

    def _sender_ended(self, sender: asyncio.Task[None]) -> None:
        self._senders.discard(sender)
        if sender.cancelled():
            # Before it began, as a loop that ends does: whoever waits for it would for ever.
            self._sending -= 1
            self._waiting = [it for it in self._waiting if not it[1].done()]
            if self._waiting:
                self._start_sender()

    async def _send_waiting(self) -> None:
        while self._waiting:
            group = self._next_group()
            try:
                answers = await self._send([item for item, _ in group])
            except BaseException as error:  # noqa: BLE001 - raised by those who wait for it
                for _, outcome in group:
                    if not outcome.done():
                        outcome.set_exception(error)
                        outcome.exception()  # seen, even if its caller was cancelled
            else:
                for (_, outcome), answer in zip(group, answers, strict=True):
                    if not outcome.done():
                        outcome.set_result(answer)
        # At once, and not when the task is cleared away: who comes between needs a sender.
        self._sending -= 1

    def _next_group(self) -> list[tuple[Item, asyncio.Future[Answer]]]:
        """Take what goes out together next."""
        some = self._waiting[: self._most_at_once]
        count = fitting(self._size_of(item) for item, _ in some)
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group
