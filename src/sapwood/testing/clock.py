"""Clocks for tests: one that is moved by hand, and one that waits for the store's own."""

from __future__ import annotations

import time
from typing import Protocol

_START_US = 1_700_000_000_000_000


class Clock(Protocol):
    """What the suite needs of the clock that the store under test reads."""

    def advance(self, seconds: float) -> None:
        """Let time pass; where the clock can be turned back, a negative number does that."""


class ManualClock:
    """A clock for stores that take one: it stands still until it is moved."""

    def __init__(self, start_us: int = _START_US) -> None:
        self.now_us = start_us

    def __call__(self) -> int:
        """Return the time in microseconds."""
        return self.now_us

    def advance(self, seconds: float) -> None:
        """Move the clock, forwards or backwards."""
        self.now_us += round(seconds * 1_000_000)


class WaitingClock:
    """A clock for stores that read a server's time: it can only wait."""

    def advance(self, seconds: float) -> None:
        """Wait until the time has passed; it cannot be turned back."""
        if seconds > 0:
            time.sleep(seconds)
