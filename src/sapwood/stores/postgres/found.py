"""Deciding what a query finds, and which of it is best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import StoreCorruptError
from ...model import EntryRef, Hits
from ...rules.match import MessageFacts, matches
from ...rules.query import Query, terms
from ...rules.relevance import is_ranked, scores
from ...rules.stored_text import stored_text
from ...rules.text import fold
from ..base.found import SUMMARY_ROLE, Said, counted, counted_terms, hit_of
from ..relational.position import public
from ..relational.rows import summary_text

COMPARED = 500
"""How many matches are compared with each other, the newest that the index finds."""


class Found:
    """One search: looks at candidates until enough of them match."""

    def __init__(self, query: Query, limit: int) -> None:
        self._query = query
        self._limit = limit
        self._is_ranked = is_ranked(query)
        self._found: list[tuple[Said[None], str]] = []

    @property
    def batch(self) -> int:
        """How many candidates to begin with: all that may be needed, or enough to compare."""
        return max(COMPARED, self._limit + 1) if self._is_ranked else self._limit + 1

    @property
    def is_enough(self) -> bool:
        """Whether no further candidates need to be looked at."""
        return len(self._found) >= self.batch

    def take(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Look at candidates, the newest first."""
        for created_us, kind, _, _, id, role, pos, data, session, title, tags in rows:
            text = None if session is None else _text(kind, data, id)
            if text is None:
                continue
            folded = fold(text)
            told_role = role if kind else SUMMARY_ROLE
            facts = MessageFacts(
                role=told_role,
                created_us=created_us,
                title=None if title is None else title.decode(),
                tags=tags,
            )
            if matches(self._query, folded, facts):
                entry = EntryRef(kind="message" if kind else "overlay", id=id)
                said = Said(None, session, entry, told_role, public(pos), created_us, text)
                self._found.append((said, folded))

    def hits(self) -> Hits:
        """Give the best matches: of equals, the newest."""
        points = [1.0] * len(self._found)
        if self._is_ranked:
            wanted = counted_terms(self._query)
            points = scores([counted(wanted, folded) for _, folded in self._found])
        ranked = sorted(zip(points, self._found, strict=True), key=lambda it: -it[0])
        shown = terms(self._query)
        return Hits(
            hits=[
                hit_of(said, shown, score, folded)
                for score, (said, folded) in ranked[: self._limit]
            ],
            more=len(ranked) > self._limit,
        )


def _text(kind: int, data: bytes, id: str) -> str | None:
    try:
        return stored_text(data, id) if kind else summary_text(data, id)
    except StoreCorruptError:
        # Whoever reads the message is told; the others are still to be found.
        return None
