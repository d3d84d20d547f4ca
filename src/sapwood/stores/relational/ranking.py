"""What a query finds of the candidates that a store has, and which of it is best."""

from __future__ import annotations

from ...errors import StoreCorruptError
from ...model import EntryRef, Hits
from ...rules.match import MessageFacts, matches
from ...rules.query import Query, terms
from ...rules.relevance import is_ranked, scores
from ...rules.text import fold, stored_text
from ..base.found import SUMMARY_ROLE, Said, counted, counted_terms, hit_of
from .position import public
from .rows import summary_text

COMPARED = 500
"""How many matches are compared with each other, the newest."""


class Ranking:
    """One search: looks at what was said, the newest first, until enough of it matches."""

    def __init__(self, query: Query, limit: int) -> None:
        self._query = query
        self._limit = limit
        self._is_ranked = is_ranked(query)
        self._found: list[tuple[Said[None], str]] = []
        self.most = max(COMPARED, limit + 1) if self._is_ranked else limit + 1
        """How many matches are enough: one more than is shown, or enough to compare."""

    @property
    def is_enough(self) -> bool:
        """Whether nothing older needs to be looked at."""
        return len(self._found) >= self.most

    def take(
        self,
        is_message: bool,
        id: str,
        role: str | None,
        pos: int,
        created_us: int,
        data: bytes,
        session: str,
        title: bytes | None,
        tags: list[str],
    ) -> None:
        """Look at a message, or at a summary, which has no role; it is told as a session's."""
        try:
            text = stored_text(data, id) if is_message else summary_text(data, id)
        except StoreCorruptError:
            # Whoever reads it is told; the others are still to be found.
            return
        folded, role = fold(text), SUMMARY_ROLE if role is None else role
        shown = None if title is None else title.decode()
        facts = MessageFacts(role=role, created_us=created_us, title=shown, tags=tags)
        if matches(self._query, folded, facts):
            entry = EntryRef(kind="message" if is_message else "overlay", id=id)
            said = Said(None, session, entry, role, public(pos), created_us, text)
            self._found.append((said, folded))

    def hits(self) -> Hits:
        """Return the best matches: of equals, the newest."""
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
