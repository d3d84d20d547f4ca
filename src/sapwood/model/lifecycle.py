"""What is told when a session begins, is left, ends or is compacted, and what failed of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import msgspec

from .message import datetime_of

Occasion = Literal["start", "switch", "end", "compaction"]
"""When hooks are called: a key has another session, a session ended, or was compacted."""


class LifecycleHook(msgspec.Struct, frozen=True, kw_only=True):
    """A function that is called on an occasion, at least once, with what happened.

    Its success is noted under its name, so the name stays the same from one run of the program to
    the next.
    """

    call: Callable[[Any], Any]
    occasion: Occasion
    name: str
    timeout_s: float = 30.0


class LifecycleProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that failed, and when it is tried again.

    `number` is the session's life, or the route's generation for a switch.
    """

    hook: str
    occasion: Occasion
    session: str
    number: int
    error: str
    attempts: int
    failed_us: int
    next_us: int

    @property
    def next_at(self) -> datetime:
        """When it is tried again at the earliest."""
        return datetime_of(self.next_us)
