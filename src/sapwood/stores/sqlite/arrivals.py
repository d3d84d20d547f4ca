"""What may match, in the order in which it came, the newest first.

What the index has comes in the order of its numbers. What it does not have yet is newer, and comes
in the order of the change feed, in which it will be numbered: so the order stays as it is when the
index follows, and a page may begin where the last one ended. An edit makes nothing newer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any, NamedTuple

import apsw
import msgspec

from ..relational.rows import KIND_APPEND, KIND_UPDATE
from .connection import Connection
from .feed import KIND_COVER, KIND_REWRITE
from .index.file import OWNER_BITS, FeedPlace, IndexFailedError
from .index.follower import join_ranges
from .index.reader import Question
from .search_scope import BodySieve, PositionRanges, Scope

_FRESH = (
    "SELECT seq, first, last, kind FROM change WHERE seq > ? AND owner = ?"
    f" AND kind IN ({KIND_APPEND}, {KIND_UPDATE}, {KIND_COVER}, {KIND_REWRITE}) ORDER BY seq DESC"
)
_SINCE = (
    "SELECT seq, first, last, kind FROM change WHERE seq BETWEEN ? AND ? AND owner = ?"
    f" AND kind IN ({KIND_APPEND}, {KIND_COVER}) ORDER BY seq LIMIT 200"
)
_ENTRIES = "SELECT number, pos FROM entry WHERE pos BETWEEN ? AND ?"


class ArrivalPlace(msgspec.Struct, frozen=True, array_like=True, tag="arrival"):
    """Where a search goes on: below a number of an index, or below what that did not have yet.

    `made` tells the index from one that is made anew. Without a number it is a position, and the
    change that it came with.
    """

    made: int
    number: int
    seq: int = 0
    pos: int = 0


class Arrived(NamedTuple):
    """Something that may match, and its place."""

    place: ArrivalPlace
    pos: int


class FreshChange(NamedTuple):
    """A change that the index has not followed yet."""

    seq: int
    first: int
    last: int
    kind: int

    @property
    def span(self) -> tuple[int, int]:
        """The positions that it is about; those of summaries are below 0."""
        if self.kind == KIND_COVER:
            return -self.last, -self.first
        return self.first, self.last


class Fresh:
    """The changes that an index has not followed yet, the newest first."""

    def __init__(self, tx: Connection, feed: FeedPlace, owner: int) -> None:
        self.feed = feed
        self.changes: list[FreshChange] = []
        if feed.lag > 0:
            self.changes = [FreshChange(*row) for row in tx.rows(_FRESH, (feed.mark.seq, owner))]

    def ranges(self) -> PositionRanges:
        """Return where something was written, in the order of positions."""
        return join_ranges(sorted(change.span for change in self.changes))


class Arrivals:
    """All that may match, on one snapshot of the index and one of the database."""

    def __init__(
        self,
        tx: Connection,
        index: Connection,
        owner: int,
        scope: Scope,
        fresh: Fresh,
    ) -> None:
        self._tx = tx
        self._index = index
        self._owner = owner
        self._scope = scope
        self._fresh = fresh
        self._made = fresh.feed.made
        self._known = {pos: number for number, pos in self._entries(fresh.ranges())}

    def has(self, place: ArrivalPlace | None) -> bool:
        """Whether a place is one of this index, and can be found in it."""
        if place is None or place.number:
            return place is None or place.made == self._made
        known = self._tx.rows("SELECT 1 FROM change WHERE seq = ?", (place.seq,))
        return place.made == self._made and bool(known or self._entries([(place.pos, place.pos)]))

    def below(
        self, place: ArrivalPlace | None, question: Question, sieve: BodySieve, batch: int
    ) -> Iterator[Arrived]:
        """Yield what came before a place."""
        end = (self._owner + 1) << OWNER_BITS
        if place is not None and place.number:
            end = min(end, place.number)
        elif place is not None and place.seq <= self._fresh.feed.mark.seq:
            end = self._number_of(place, end)
        else:
            yield from self._unindexed(place, sieve)
        yield from self._indexed(question, end, batch)

    def _unindexed(self, place: ArrivalPlace | None, sieve: BodySieve) -> Iterator[Arrived]:
        """Yield what was appended since, below a place."""
        for change in self._fresh.changes:
            if change.kind in (KIND_UPDATE, KIND_REWRITE) or (place and change.seq > place.seq):
                continue
            first, last = change.span
            if place and change.seq == place.seq:
                last = min(last, place.pos - 1)
            for pos in self._scope.newest_in(first, last, sieve):
                if pos not in self._known:
                    yield Arrived(ArrivalPlace(self._made, 0, change.seq, pos), pos)

    def _indexed(self, question: Question, end: int, batch: int) -> Iterator[Arrived]:
        """Yield what has a number below an end; what was edited since, whatever it said."""
        edited = sorted(((number, pos) for pos, number in self._known.items()), reverse=True)
        asked = (
            (it.number, it.pos)
            for some in question.ask(self._index, self._owner, batch, end=end)
            for it in some
            if it.pos not in self._known
        )
        below = (it for it in edited if it[0] < end)
        for number, pos in merge(below, asked, reverse=True):
            yield Arrived(ArrivalPlace(self._made, number), pos)

    def _entries(self, ranges: PositionRanges) -> set[tuple[int, int]]:
        """Return the numbers and positions of what the index has of ranges."""
        return {tuple(row) for span in ranges for row in self._rows(_ENTRIES, span)}

    def _number_of(self, place: ArrivalPlace, end: int) -> int:
        """Return the number that the index has given by now to the place, or to what follows it."""
        found = self._entries([(place.pos, place.pos)])
        if found:
            return min(found)[0]
        # It was deleted: what came after it was given, and has greater numbers.
        until = self._fresh.feed.mark.seq
        seq = place.seq
        while rows := self._tx.rows(_SINCE, (seq, until, self._owner)):
            for change in map(FreshChange._make, rows):
                first, last = change.span
                if change.seq == place.seq:
                    first = max(first, place.pos)
                if found := self._entries([(first, last)]):
                    return min(found)[0]
                seq = change.seq + 1
        return end

    def _rows(self, sql: str, args: Sequence[Any]) -> list[Any]:
        try:
            return self._index.rows(sql, tuple(args))
        except apsw.Error as error:
            raise IndexFailedError(str(error)) from error
