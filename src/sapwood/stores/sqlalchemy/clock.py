"""The server's time, without asking for it each time."""

from __future__ import annotations

import time
from collections.abc import Callable

ASKED_EVERY_NS = 10 * 1_000_000_000


class ServerClock:
    """Counts on from the server's time as it was last asked for, at most ten seconds ago."""

    def __init__(self, ticks: Callable[[], int] = time.monotonic_ns) -> None:
        self._ticks = ticks
        self._known: tuple[int, int] | None = None

    def read(self, ask: Callable[[], int]) -> int:
        """Tell the time; `ask` asks the server."""
        known, now = self._known, self._ticks()
        if known is None or now - known[1] > ASKED_EVERY_NS:
            known = self._known = ask(), self._ticks()
            now = known[1]
        return known[0] + (now - known[1]) // 1000
