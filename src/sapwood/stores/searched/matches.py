"""Deciding what a query finds, and what of it a page shows."""

from __future__ import annotations

from ...model import Hits, Search
from ...rules.query import Query
from ..base.found import Said, matching_text
from ..base.hit_block import HitBlock, HitOrder
from .entry import CandidateOrder

PLACES = "index"
"""The name of this kind of places, by which their cursors are told."""

_OF_SESSIONS = ("title", "tag")


class SearchMatches:
    """One search: looks at what candidates say until enough of them match."""

    def __init__(self, owner: str, search: Search, query: Query) -> None:
        self._query = query
        self._block = HitBlock(PLACES, owner, search, query)
        self._told: set[tuple[str, str, str]] = set()
        self.asks_of_sessions = any(
            filter.field in _OF_SESSIONS for branch in query.branches for filter in branch.filters
        )

    @property
    def below(self) -> CandidateOrder | None:
        """Below which candidate the search begins."""
        if self._block.below is None:
            return None
        created_us, key = self._block.below
        return int(created_us), str(key)

    @property
    def batch(self) -> int:
        """How many candidates to begin with: all that may be needed, or enough to compare."""
        return self._block.most

    def is_enough(self, until: CandidateOrder) -> bool:
        """Whether nothing that comes after this one can be among the best any more.

        A session's summaries come with the newest of them: an older one does not count yet.
        """
        return self._block.is_full_above(until)

    def take(self, order: HitOrder, said: Said[None], title: str | None, tags: list[str]) -> None:
        """Look at what a candidate says."""
        name = (said.session_id, said.entry.kind, said.entry.id)
        folded = matching_text(self._query, said, title, tags)
        if folded is not None and name not in self._told:
            self._told.add(name)
            self._block.take(order, said, folded)

    def hits(self) -> Hits:
        """Return the best matches: of equals, the newest."""
        return self._block.hits()
