"""Which of the matches of a search a page shows, and where the next one goes on.

Matches have an order, the newest first. They are shown in it, or, if the query ranks them, in
blocks: so many of the newest are compared with each other, and the next ones after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush, heappushpop
from typing import Any, NamedTuple

import msgspec

from ...model import Hits, Search
from ...rules.query import Query, terms
from ...rules.relevance import is_ranked, scores
from ...rules.search_cursor import cursor_at, place_in
from .found import Said, counted, counted_terms, hit_of

COMPARED = 500
"""How many matches are compared with each other, the newest."""

HitOrder = tuple[int | str, ...]
"""What no two matches have alike: first the time, then whatever tells apart what has the same."""


def order_of(said: Said[Any], tree: str = "") -> HitOrder:
    """Return the order of what was said, where segments have names of their own in a tree."""
    place = said.position
    return said.created_us, said.entry.kind, tree, place.segment, place.depth, said.entry.id


class HitPlace(msgspec.Struct, frozen=True, array_like=True, tag="block"):
    """A block of matches, which begins below one of them, and how many of it were shown."""

    below: HitOrder | None
    shown: int


class Match(NamedTuple):
    """What matches, and its folded text."""

    order: HitOrder
    number: int
    said: Said[Any]
    folded: str


class HitBlock:
    """Takes matches in any order, and keeps as many as are needed for a page.

    `kind` names the store, whose places are no other's.
    """

    def __init__(self, kind: str, owner: str, search: Search, query: Query) -> None:
        self._asked = kind, owner, search
        self._query = query
        self._is_ranked = is_ranked(query)
        self._place = place_in(kind, owner, search, HitPlace) or HitPlace(None, 0)
        self._size = max(COMPARED, search.limit) if self._is_ranked else search.limit
        self._found: list[Match] = []
        self._taken = 0

    @property
    def below(self) -> HitOrder | None:
        """Where the block begins: only what is older is looked for."""
        return self._place.below

    @property
    def most(self) -> int:
        """How many matches are enough: one more than the block has tells that there are more."""
        return self._size + 1

    @property
    def is_full(self) -> bool:
        """Whether nothing older than what was taken needs to be looked at."""
        return len(self._found) >= self.most

    def is_full_above(self, order: HitOrder) -> bool:
        """Whether nothing from there on needs to be looked at, though some was taken already."""
        return sum(match.order >= order for match in self._found) >= self.most

    def take(self, order: HitOrder, said: Said[Any], folded: str) -> None:
        """Take a match."""
        if self.below is not None and order >= self.below:
            return
        self._taken += 1
        match = Match(order, -self._taken, said, folded)
        if self.is_full:
            heappushpop(self._found, match)
        else:
            heappush(self._found, match)

    def hits(self) -> Hits:
        """Return the page: the best matches, of equals the newest."""
        newest = sorted(self._found, reverse=True)
        block = newest[: self._size]
        end = self._place.shown + self._asked[2].limit
        wanted = terms(self._query)
        hits = [
            hit_of(match.said, wanted, score, match.folded)
            for score, match in self._best_first(block)[self._place.shown : end]
        ]
        place = None
        if end < len(block):
            place = HitPlace(self.below, end)
        elif len(newest) > len(block):
            place = HitPlace(block[-1].order, 0)
        return Hits(hits=hits, cursor=None if place is None else cursor_at(*self._asked, place))

    def _best_first(self, newest: Sequence[Match]) -> list[tuple[float, Match]]:
        points = [1.0] * len(newest)
        if self._is_ranked:
            wanted = counted_terms(self._query)
            points = scores([counted(wanted, match.folded) for match in newest])
        return sorted(zip(points, newest, strict=True), key=lambda it: -it[0])
