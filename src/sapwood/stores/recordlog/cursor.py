"""Where a reader of the change feed is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..base.refusals import bad_feed_cursor, cursor_ahead, feed_trimmed


class LogCursor(NamedTuple):
    """The last record of the feed that was read whole, and how far the next one was read.

    That is: parts read whole, the record of the next part's log, and the changes read of that.
    """

    n: int = 0
    part: int = 0
    record: int = 0
    done: int = 0

    @classmethod
    def read(cls, text: str, trimmed: int, last: int, is_lost: Callable[[int], bool]) -> LogCursor:
        """Read a cursor that was given out; the empty one is the beginning."""
        if not text:
            return cls(trimmed)
        parts = text.split(".")
        if not (len(parts) == 4 and all(_is_number(part) for part in parts)):
            raise bad_feed_cursor(text)
        cursor = cls(*map(int, parts))
        if cursor > cls(last):
            raise cursor_ahead(text)
        if cursor.n < trimmed or is_lost(cursor.n):
            raise feed_trimmed(text)
        return cursor

    def __str__(self) -> str:
        return f"{self.n}.{self.part}.{self.record}.{self.done}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
