"""What drivers of the record log for a server have in common."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence

from ..log_documents import LogDocument, LogKind
from ..record_sender import AsyncRecordSender, CreateOutcome, is_new
from .driver import AsyncLogDriver

CLOCK_S = 60.0


class AsyncServerDriver(AsyncLogDriver):
    """Creates what arrives together at once, and counts on from the server's clock."""

    def __init__(self) -> None:
        self._gather = AsyncRecordSender(self._send)
        self._clock_us = 0
        self._clock_at = -CLOCK_S

    @abstractmethod
    async def _send(self, documents: Sequence[LogDocument]) -> Sequence[CreateOutcome]:
        """Create documents of one kind; return of each whether it is new, or why it was refused."""

    @abstractmethod
    async def _server_time(self) -> int:
        """Ask for the server's time."""

    async def create(self, document: LogDocument) -> bool:
        """Create a document; records go out together with others'."""
        if document.kind is LogKind.RECORD:
            return await self._gather.add(document)
        [told] = await self._send([document])
        return is_new(told)

    async def create_all(self, documents: Sequence[LogDocument]) -> None:
        for told in await self._send(documents) if documents else ():
            is_new(told)

    async def now(self) -> int:
        """Return the server's time, which is looked at once a minute and counted on from there."""
        if time.monotonic() - self._clock_at >= CLOCK_S:
            self._clock_us = await self._server_time()
            self._clock_at = time.monotonic()
        return self._clock_us + round((time.monotonic() - self._clock_at) * 1_000_000)
