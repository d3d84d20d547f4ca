"""Appends that arrive together go out together.

`AsyncAppends` is for the async twin and `Appends` for the sync one; they have the same methods. A
few groups are under way at once: while the server works on one, the next is made ready. What comes
alone goes out alone, and at once.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from copy import copy

from ...model import Appended
from .append_request import Request, size_of
from .queues import until_done
from .sender import MOST_SENDERS, AsyncGroupSender, fitting

MOST_AT_ONCE = 32


class AsyncAppends(AsyncGroupSender[Request, Appended | None]):
    """Gathers what arrives while others are being sent, for an event loop."""

    def __init__(
        self, send: Callable[[Sequence[Request]], Awaitable[Sequence[Appended | None]]]
    ) -> None:
        super().__init__(send, size_of, MOST_AT_ONCE)

    async def add(self, request: Request) -> Appended | None:
        """Send a request, maybe with others; a caller that is cancelled waits for its outcome."""
        import asyncio

        outcome = self.queue(request)
        try:
            return await asyncio.shield(outcome)
        except asyncio.CancelledError:
            await until_done(outcome)
            raise


class _Waiting:
    """A request whose thread waits: until others have sent it, or until it is to send them."""

    __slots__ = ("answer", "error", "group", "request", "turn")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.turn = threading.Lock()
        self.turn.acquire()
        self.group: list[_Waiting] | None = None
        self.answer: Appended | None = None
        self.error: BaseException | None = None


class Appends:
    """Gathers what arrives while others are being sent, for threads.

    A thread that finds a sender free sends by itself. Those that have to wait are sent together by
    the first of them, when its turn comes: no thread works for others after its own is done.
    """

    def __init__(self, send: Callable[[Sequence[Request]], Sequence[Appended | None]]) -> None:
        self._send = send
        self._guard = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._senders = 0

    def add(self, request: Request) -> Appended | None:
        """Send a request, maybe with others."""
        waiting = None
        with self._guard:
            if self._senders < MOST_SENDERS:
                self._senders += 1
            else:
                waiting = _Waiting(request)
                self._waiting.append(waiting)
        if waiting is not None:
            return self._outcome(waiting)
        try:
            return self._send([request])[0]
        finally:
            self._pass_on()

    def _outcome(self, mine: _Waiting) -> Appended | None:
        try:
            mine.turn.acquire()
        except BaseException:
            self._give_up(mine)
            raise
        if mine.group is not None:
            self._send_group(mine.group)
        if mine.error is not None:
            raise mine.error
        return mine.answer

    def _send_group(self, group: list[_Waiting]) -> None:
        try:
            answers = self._send([it.request for it in group])
            for it, answer in zip(group, answers, strict=True):
                it.answer = answer
        except BaseException as error:  # noqa: BLE001 - raised by those who wait for it
            for it in group:
                # Each thread adds its own way to the error that it raises.
                it.error = copy(error)
                it.error.__cause__ = error.__cause__
        finally:
            self._pass_on()
            for it in group[1:]:
                it.turn.release()

    def _pass_on(self) -> None:
        """Let those who wait go next, sent by the first of them."""
        with self._guard:
            count = fitting(size_of(it.request) for it in self._waiting[:MOST_AT_ONCE])
            group, self._waiting = self._waiting[:count], self._waiting[count:]
            if not group:
                self._senders -= 1
                return
            # Before anybody can see that it left the queue: an interrupt may come right now.
            group[0].group = group
        group[0].turn.release()

    def _give_up(self, mine: _Waiting) -> None:
        """Leave the queue of a thread that was interrupted; those it was to send go on."""
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return
        if mine.group is not None:
            self._send_group(mine.group)
