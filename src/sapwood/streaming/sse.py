"""Events as Server-Sent Events, in words of our own."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from .events import DoneEvent, ErrorEvent, StreamEvent

HEARTBEAT = ": quiet\n\n"
FAILED = "The answer could not be finished."

_encode = msgspec.json.Encoder().encode


def as_json(value: dict[str, Any]) -> str:
    """Write JSON on one line. Half of a character is an escape, and joined to its other half."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value)


class SseWriter:
    """Writes each event under its number, from 1; those up to `after` are left out."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._number = 0

    def write(self, event: StreamEvent | None) -> str:
        """Return an event as text; a comment when there was none for long."""
        if event is None:
            return HEARTBEAT
        told: dict[str, Any] = msgspec.to_builtins(event)
        if isinstance(event, DoneEvent):
            # What the client has by now, and what only the vendor can read.
            del told["message"]
        return self._numbered(told["type"], told)

    def fail(self) -> str:
        """Return what is said in place of an exception, whose text is not for everybody."""
        return self.write(ErrorEvent(message=FAILED))

    def end(self) -> str:
        """Return what says that nothing more comes, so that a client does not ask again."""
        return self._numbered("end", {"type": "end"})

    def _numbered(self, kind: str, told: dict[str, Any]) -> str:
        self._number += 1
        if self._number <= self._after:
            return ""
        return f"id: {self._number}\nevent: {kind}\ndata: {as_json(told)}\n\n"
