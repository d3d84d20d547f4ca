"""The change feed: its order, what a record means for it, and where a reader of it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...model import Change, ChangeKind
from ..base.refusals import bad_feed_cursor, cursor_ahead, feed_trimmed
from .record import Record
from .work import (
    Append,
    ChangeProfile,
    Clear,
    Edit,
    Erase,
    LogWork,
    MoveTip,
    Retire,
    StoredPlace,
    from_wire,
    public,
)

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


def changes_of(record: Record, n: int, part: FeedPart, version: int | None) -> list[Change]:
    """Return the changes of a record, in order.

    Given is the version of the session's record as it is now, or None: of a session that is gone it
    is not told what became of its record. A log's first record made the session.
    """
    works = [record.work, *record.also]
    told = [change for work in works for change in _changes_of(work, part)]
    is_of_record = not n or any(map(_is_of_record, works))
    if is_of_record and version is not None:
        told.append(_change(part, ChangeKind.RECORD, record.stamp, version))
    return told


def _is_of_record(work: LogWork) -> bool:
    """Whether work changed the session's record."""
    return isinstance(work, MoveTip) or (isinstance(work, ChangeProfile) and not work.as_it_lies)


def _changes_of(work: LogWork, part: FeedPart) -> list[Change]:
    match work:
        case Append(clears=True):
            return [_change(part, ChangeKind.RETIRE, work.at_us, work.version)]
        case Append():
            return [
                _change(part, ChangeKind.APPEND, work.at_us, said.version, said.id, at)
                for depth, said in enumerate(work.messages, work.first)
                if said.version and not said.is_mark and (at := ("", work.number, depth))
            ]
        case Edit(as_it_lies=False):
            at = ("", work.number, work.depth)
            return [_change(part, ChangeKind.UPDATE, work.at_us, work.version, work.id, at)]
        case Erase():
            return [
                _change(part, ChangeKind.DELETE, work.at_us, spot.version, spot.id, spot.place)
                for spot in work.spots
                if spot.told
            ]
        case Clear() | Retire():
            return [_change(part, ChangeKind.RETIRE, work.at_us, work.version)]
    return []


def _change(
    part: FeedPart,
    kind: ChangeKind,
    at_us: int,
    version: int,
    id: str | None = None,
    at: StoredPlace | None = None,
) -> Change:
    session, tree, log, _, _ = part
    return Change(
        kind=kind,
        session=session,
        message=id,
        tree=tree,
        position=None if at is None else public(from_wire(at, log)),
        version=version,
        at_us=at_us,
    )


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
