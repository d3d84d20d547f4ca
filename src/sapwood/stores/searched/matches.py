"""Deciding what a query finds, and which of it is best."""

from __future__ import annotations

from ...model import Hits
from ...rules.query import Query
from ...rules.relevance import is_ranked
from ..base.found import Said, best_hits, matching_text

COMPARED = 500
"""How many matches are compared with each other, the newest that the index finds."""

_OF_SESSIONS = ("title", "tag")


class SearchMatches:
    """One search: looks at what candidates say until enough of them match."""

    def __init__(self, query: Query, limit: int) -> None:
        self._query = query
        self._limit = limit
        self._is_ranked = is_ranked(query)
        self._found: list[tuple[Said[None], str]] = []
        self._told: set[tuple[str, str, str]] = set()
        self.asks_of_sessions = any(
            filter.field in _OF_SESSIONS for branch in query.branches for filter in branch.filters
        )

    @property
    def batch(self) -> int:
        """How many candidates to begin with: all that may be needed, or enough to compare."""
        return max(COMPARED, self._limit + 1) if self._is_ranked else self._limit + 1

    def is_enough(self, until_us: int) -> bool:
        """Whether nothing as old as this can be among the best any more.

        A session's summaries come with the newest of them: an older one does not count yet.
        """
        newer = sum(said.created_us >= until_us for said, _ in self._found)
        return newer >= self.batch

    def take(self, said: Said[None], title: str | None, tags: list[str]) -> bool:
        """Look at what a candidate says; return whether it matches."""
        name = (said.session_id, said.entry.kind, said.entry.id)
        folded = matching_text(self._query, said, title, tags)
        if folded is None or name in self._told:
            return False
        self._told.add(name)
        self._found.append((said, folded))
        return True

    def hits(self) -> Hits:
        """Return the best matches: of equals, the newest."""
        return best_hits(self._query, self._found, self._limit)
