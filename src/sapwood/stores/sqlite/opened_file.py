"""Whether the file that was opened is still the one that has its name.

A file that was deleted or replaced goes on to take what is written, and nobody will ever see it.
"""

from __future__ import annotations

import os
import time

from ...errors import StoreError

LOOK_EVERY_S = 0.05


class OpenedFile:
    """The file behind a path as it was when it was opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: int | None = None
        self._opened = self._now()
        self._next_look = 0.0

    def look(self) -> None:
        """Refuse to go on with a file that is gone; called before every commit, so it is quick."""
        now = time.monotonic()
        if now >= self._next_look:
            self.refuse_if_gone()
            self._next_look = now + LOOK_EVERY_S

    def refuse_if_gone(self) -> None:
        """Raise when the path leads to another file, or to none."""
        if self._now() != self._opened:
            raise StoreError(
                f"{self._path} was deleted or replaced while it was open: close the store and "
                "open it again; what was stored before is in the old file only"
            )

    def _now(self) -> int | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116  a path object costs more than the call
        except FileNotFoundError:
            return None
        except OSError:
            return self._opened  # who may not look cannot tell
        # As SQLite does it itself, where it keeps no log.
        return found.st_ino
