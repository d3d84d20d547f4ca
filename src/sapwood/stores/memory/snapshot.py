"""The whole store as it was at one moment, to go back to."""

from __future__ import annotations

from ...errors import UsageError
from .shelf import Shelf


class MemorySnapshot:
    """What a memory store held at one moment. It never changes, and says nothing of itself."""

    __slots__ = ("_shelf", "_stamp")

    def __init__(self, shelf: Shelf, stamp: int) -> None:
        self._shelf = shelf.copy()
        self._stamp = stamp

    def shelf_after(self, before: Shelf) -> Shelf:
        """Return what it held, for a store that has this shelf now."""
        shelf = self._shelf.copy()
        shelf.go_on_after(before)
        return shelf

    def stamp(self) -> int:
        """Return a stamp that is above all that it holds."""
        return self._stamp


def check_snapshot(value: object) -> MemorySnapshot:
    """Return a snapshot; raise for what is none."""
    if not isinstance(value, MemorySnapshot):
        raise UsageError(
            f"a memory store is restored from what its snapshot() gave, "
            f"not from a {type(value).__name__}",
            path="snapshot",
        )
    return value
