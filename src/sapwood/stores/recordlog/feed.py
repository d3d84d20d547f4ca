"""The change feed: its order, what a record means for it, and where a reader of it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...model import Change, ChangeKind
from ..base.refusals import bad_feed_cursor, cursor_ahead, feed_trimmed
from .work import Append, Clear, Edit, Erase, LogWork, Retire

FeedPart = tuple[str, str, str, int, int]
"""A run of a log's records: the session's id, tree, log, the first and the last."""


def merged(parts: Sequence[FeedPart], stamps: Sequence[Sequence[int]]) -> list[FeedPart]:
    """Put records of several logs into one order, as runs; those without a stamp wait.

    Beyond the records whose stamps are known nothing is said of any log, so that none is ahead.
    """
    cut = [
        times[-1]
        for part, times in zip(parts, stamps, strict=True)
        if part[3] + len(times) - 1 < part[4]
    ]
    until = min(cut, default=None)
    every = sorted(
        (stamp, index, part[3] + offset)
        for index, (part, times) in enumerate(zip(parts, stamps, strict=True))
        for offset, stamp in enumerate(times)
        if until is None or stamp <= until
    )
    runs: list[FeedPart] = []
    for _, index, n in every:
        session, tree, log, _, _ = parts[index]
        if runs and runs[-1][2] == log:
            runs[-1] = (*runs[-1][:4], n)
        else:
            runs.append((session, tree, log, n, n))
    return runs


def changes_of(work: LogWork | None, session: str) -> list[Change]:
    """Return the changes of a record, in order."""

    def change(kind: ChangeKind, at_us: int, id: str | None, depth: int | None) -> Change:
        return Change(kind=kind, session=session, message=id, depth=depth, at_us=at_us)

    match work:
        case Append(clears=True):
            return [change(ChangeKind.RETIRE, work.at_us, None, None)]
        case Append():
            return [
                change(ChangeKind.APPEND, work.at_us, said.id, depth)
                for depth, said in enumerate(work.messages, work.first)
                if said.version and not said.is_mark
            ]
        case Edit():
            return [change(ChangeKind.UPDATE, work.at_us, work.id, work.depth)]
        case Erase():
            return [
                change(ChangeKind.DELETE, work.at_us, spot.id, spot.place[2])
                for spot in work.spots
                if spot.told
            ]
        case Clear() | Retire():
            return [change(ChangeKind.RETIRE, work.at_us, None, None)]
    return []


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
