"""Appends that go out together in one transaction: of each session one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...model import Appended
from ..base.append_request import Request, size_of
from ..base.appends import AsyncAppends
from ..base.sender import MOST_BYTES

if TYPE_CHECKING:
    import asyncio

    Pending = tuple[Request, asyncio.Future[Appended | None]]

MOST_AT_ONCE = 64
MOST_SENDERS = 2


class AsyncAppendQueue(AsyncAppends):
    """Gathers what arrives while others are being sent, for an event loop."""

    most_senders = MOST_SENDERS

    def _next_group(self) -> list[Pending]:
        """Take what fits together: of each session the first, the others wait for the next."""
        group: list[Pending] = []
        rest: list[Pending] = []
        size = 0
        sessions: set[tuple[str, str]] = set()
        for waiting in self._waiting:
            request, _ = waiting
            key = request.owner, request.session
            added = size_of(request)
            full = len(group) >= MOST_AT_ONCE or (group and size + added > MOST_BYTES)
            if full or key in sessions:
                rest.append(waiting)
                continue
            sessions.add(key)
            group.append(waiting)
            size += added
        self._waiting = rest
        return group


class AppendQueue:
    """Sends each by itself, for threads."""

    def __init__(self, send: Callable[[Sequence[Request]], Sequence[Appended | None]]) -> None:
        self._send = send

    def add(self, request: Request) -> Appended | None:
        """Send a request."""
        return self._send([request])[0]
