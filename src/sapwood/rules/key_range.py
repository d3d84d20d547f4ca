"""Which keys are asked for: those that begin with a prefix, from a place on, in an order.

Keys are compared byte by byte, which is the order of their characters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LAST_CHARACTER = "\U0010ffff"
LAST_BEFORE_SURROGATES, FIRST_AFTER_SURROGATES = "\ud7ff", "\ue000"
BEYOND_ALL = LAST_CHARACTER * 257
"""Longer than a key may be, of what no character comes after."""


class KeyRange(NamedTuple):
    """Which keys, and how many of them; `after` is a key in the order that is asked for."""

    prefix: str = ""
    after: str | None = None
    limit: int | None = None
    reverse: bool = False

    def bounds(self) -> tuple[str, bool, str]:
        """Return from which key on, whether that is taken in, and before which key."""
        low, high = self.prefix, prefix_end(self.prefix)
        if self.after is None:
            return low, True, high
        if self.reverse:
            return low, True, min(self.after, high)
        return (self.after, False, high) if self.after >= low else (low, True, high)

    def of(self, keys: Iterable[str]) -> list[str]:
        """Return those of some keys that are asked for, in order."""
        low, is_included, high = self.bounds()
        found = [it for it in keys if low <= it < high and (is_included or it > low)]
        return sorted(found, reverse=self.reverse)[: self.limit]


def prefix_end(prefix: str) -> str:
    """Return the first text, in their order, after all keys that begin with a prefix."""
    head = prefix.rstrip(LAST_CHARACTER)
    if not head:
        return BEYOND_ALL
    last = head[-1]
    after = FIRST_AFTER_SURROGATES if last == LAST_BEFORE_SURROGATES else chr(ord(last) + 1)
    return head[:-1] + after
