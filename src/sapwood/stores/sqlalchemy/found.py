"""Deciding what a query finds, and which of it is best."""

from __future__ import annotations

from ...model import Hits
from ...rules.match import MessageFacts, matches
from ...rules.query import Query, terms
from ...rules.relevance import is_ranked, scores
from ...rules.text import fold
from ..base.found import Said, counted, counted_terms, hit_of

COMPARED = 500
"""How many matches are compared with each other, the newest."""


class Found:
    """One search: looks at what was said, the newest first, until enough of it matches."""

    def __init__(self, query: Query, limit: int) -> None:
        self.query = query
        self._limit = limit
        self._is_ranked = is_ranked(query)
        self._found: list[tuple[Said[None], str]] = []

    @property
    def is_enough(self) -> bool:
        """Whether nothing older needs to be looked at."""
        most = max(COMPARED, self._limit + 1) if self._is_ranked else self._limit + 1
        return len(self._found) >= most

    def take(self, said: Said[None], title: str | None, tags: list[str]) -> None:
        """Look at one message or summary."""
        folded = fold(said.text)
        facts = MessageFacts(role=said.role, created_us=said.created_us, title=title, tags=tags)
        if matches(self.query, folded, facts):
            self._found.append((said, folded))

    def hits(self) -> Hits:
        """Give the best matches: of equals, the newest."""
        points = [1.0] * len(self._found)
        if self._is_ranked:
            wanted = counted_terms(self.query)
            points = scores([counted(wanted, folded) for _, folded in self._found])
        ranked = sorted(zip(points, self._found, strict=True), key=lambda it: -it[0])
        shown = terms(self.query)
        return Hits(
            hits=[
                hit_of(said, shown, score, folded)
                for score, (said, folded) in ranked[: self._limit]
            ],
            more=len(ranked) > self._limit,
        )
