"""Events on their way to a browser."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing
from typing import Any

from ..events import StreamEvent
from ..quiet import AsyncQuiet
from ..written import EventWriter


class AsyncWriting:
    """Writes events as they come."""

    @staticmethod
    async def lines(
        events: AsyncIterable[StreamEvent], writer: EventWriter, heartbeat_s: float | None
    ) -> AsyncIterator[str]:
        """Yield the text of each event; whoever leaves closes the events."""
        source: Any = events if heartbeat_s is None else AsyncQuiet.of(events, heartbeat_s)
        try:
            async with aclosing(source):
                async for event in source:
                    if text := writer.write(event):
                        yield text
        except Exception:
            yield writer.fail()
            raise
        if text := writer.end():
            yield text
