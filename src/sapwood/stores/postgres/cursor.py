"""Where a reader of the change feed is."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import UsageError


class Cursor(NamedTuple):
    """The last row that was read whole, and how many positions of the next one were, too."""

    xid: int
    seq: int
    done: int

    @classmethod
    def read(cls, text: str) -> Cursor:
        """Read a cursor that was given out; the empty one is the beginning."""
        parts = (text or str(BEGINNING)).split(".")
        if not (len(parts) == 3 and all(_is_number(part) for part in parts)):
            raise UsageError(f"{text!r} is not a cursor of this feed", path="after")
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return f"{self.xid}.{self.seq}.{self.done}"


BEGINNING = Cursor(0, 0, 0)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
