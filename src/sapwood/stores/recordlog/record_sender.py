"""Records that arrive together go out together.

`AsyncRecordSender` is for the async twin and `RecordSender` for the sync one; their methods are the
same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ..base.sender import AsyncGroupSender
from .log_documents import LogDocument

MOST_AT_ONCE = 64

CreateOutcome = bool | Exception
"""What became of a document: whether it is new, or why it was refused."""


def is_new(told: CreateOutcome) -> bool:
    """Whether a document is new; raise the error if it was refused."""
    if isinstance(told, Exception):
        raise told
    return told


class AsyncRecordSender(AsyncGroupSender[LogDocument, CreateOutcome]):
    """Gathers what arrives while others are being sent, for an event loop."""

    def __init__(
        self, send: Callable[[Sequence[LogDocument]], Awaitable[Sequence[CreateOutcome]]]
    ) -> None:
        super().__init__(send, lambda document: len(document.data), MOST_AT_ONCE)

    async def add(self, document: LogDocument) -> bool:
        """Send a document, maybe with others."""
        return is_new(await self.queue(document))


class RecordSender:
    """Sends each by itself, for threads."""

    def __init__(self, send: Callable[[Sequence[LogDocument]], Sequence[CreateOutcome]]) -> None:
        self._send = send

    def add(self, document: LogDocument) -> bool:
        """Send a document."""
        return is_new(self._send([document])[0])
