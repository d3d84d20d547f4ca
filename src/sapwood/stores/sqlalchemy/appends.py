"""Appends that arrive together go out together.

`AsyncAppends` is for the async twin and `Appends` for the sync one; they have the same methods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...model import Appended, Root
from ...rules.codec import Packed

if TYPE_CHECKING:
    import asyncio

MOST_AT_ONCE = 64
MOST_BYTES = 2 * 1024 * 1024
MOST_SENDERS = 2


class Request(NamedTuple):
    """What to append, and where."""

    owner: str
    session: str
    batch: Sequence[Packed]
    parent: str | Root | None
    expected_tip: str | Root | None

    @property
    def is_plain(self) -> bool:
        """Whether it is one message after the tip, which can go together with others."""
        return len(self.batch) == 1 and self.parent is None and self.expected_tip is None


class AsyncAppends:
    """Gathers what arrives while others are being sent, for an event loop."""

    def __init__(
        self, send: Callable[[Sequence[Request]], Awaitable[Sequence[Appended | None]]]
    ) -> None:
        self._send = send
        self._waiting: list[tuple[Request, asyncio.Future[Appended | None]]] = []
        self._senders: set[asyncio.Task[None]] = set()
        self._sending = 0

    async def add(self, request: Request) -> Appended | None:
        """Send a request, maybe with others; a caller that is cancelled waits for its outcome."""
        import asyncio

        outcome: asyncio.Future[Appended | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, outcome))
        if self._sending < MOST_SENDERS:
            self._sending += 1
            sender = asyncio.create_task(self._send_waiting())
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)
        try:
            return await asyncio.shield(outcome)
        except asyncio.CancelledError:
            await asyncio.wait([outcome])
            raise

    async def _send_waiting(self) -> None:
        while self._waiting:
            group = self._next_group()
            try:
                answers = await self._send([request for request, _ in group])
            except BaseException as error:  # noqa: BLE001 - raised by those who wait for it
                for _, outcome in group:
                    outcome.set_exception(error)
                    outcome.exception()  # seen, even if its caller was cancelled
            else:
                for (_, outcome), answer in zip(group, answers, strict=True):
                    outcome.set_result(answer)
        # At once, and not when the task is cleared away: who comes between needs a sender.
        self._sending -= 1

    def _next_group(self) -> list[tuple[Request, asyncio.Future[Appended | None]]]:
        """Take what fits together: of each session the first, the others wait for the next."""
        group: list[tuple[Request, asyncio.Future[Appended | None]]] = []
        rest: list[tuple[Request, asyncio.Future[Appended | None]]] = []
        size = 0
        sessions: set[tuple[str, str]] = set()
        for waiting in self._waiting:
            request, _ = waiting
            key = request.owner, request.session
            added = sum(len(it.body) for it in request.batch)
            full = len(group) >= MOST_AT_ONCE or (group and size + added > MOST_BYTES)
            if full or key in sessions:
                rest.append(waiting)
                continue
            sessions.add(key)
            group.append(waiting)
            size += added
        self._waiting = rest
        return group


class Appends:
    """Sends each by itself, for threads."""

    def __init__(self, send: Callable[[Sequence[Request]], Sequence[Appended | None]]) -> None:
        self._send = send

    def add(self, request: Request) -> Appended | None:
        """Send a request."""
        return self._send([request])[0]
