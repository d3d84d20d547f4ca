"""What a server may do with a request."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """Answers whole."""

    body: Any
    status: int = 200
    headers: dict[str, str] = {}
    media_type: str = "application/json"

    @property
    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


class Stream(NamedTuple):
    """Answers by server-sent events, with a pause after each; `drops` ends without an end."""

    events: Iterable[Any]
    pause_s: float = 0
    drops: bool = False
    hangs: bool = False


class Hang(NamedTuple):
    """Answers nothing until the server is closed."""


class Drop(NamedTuple):
    """Closes the connection without an answer."""


Action = Reply | Stream | Hang | Drop
