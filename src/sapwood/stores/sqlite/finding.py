"""Deciding what a query finds, and which of it is best."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ...model import Hits
from ...rules.fold import fold, is_latin
from ...rules.match import is_said, matches, occurs
from ...rules.query import Query, Term, terms
from ...rules.relevance import is_ranked, scores
from ..base.found import Said, counted, counted_terms, hit_of
from .index.asking import Candidate
from .said import Scope, Sieve

Ranges = list[tuple[int, int]]

COMPARED = 500
"""How many matches are compared with each other, the newest that the index finds."""


class Finder:
    """One search: looks at candidates until enough of them match."""

    def __init__(self, scope: Scope, query: Query, limit: int) -> None:
        self.query = query
        self._scope = scope
        self._limit = limit
        self._terms = counted_terms(query)
        self._has_filters = any(branch.filters for branch in query.branches)
        self._words = _words_alone(query)
        self.is_ranked = is_ranked(query)
        self._found: list[tuple[float, Said[int], str | None]] = []

    def find(self, unread: Ranges, batches: Iterator[list[Candidate]]) -> Hits:
        """Give the best matches of what the index does not know and of what it found."""
        read = self._read(unread)
        starts = [first for first, _ in unread]
        for batch in batches:
            if unread:
                # What was read through already is not asked of the index again.
                batch = [it for it in batch if not _is_in(it.pos, unread, starts)]
            self._take_best(read + batch)
            read = []
            if len(self._found) > self._limit:
                break
        self._take_best(read)
        return self._hits()

    @property
    def batch(self) -> int:
        """How many candidates to begin with: all that may be needed, or enough to compare."""
        return COMPARED if self.is_ranked else self._limit + 1

    def forget(self) -> None:
        """Begin again."""
        self._found.clear()

    def _read(self, ranges: Ranges) -> list[Candidate]:
        """Read ranges through; give what matches, the newest first."""
        found = []
        for pos, said in self._scope.read(ranges, Sieve(self.query)):
            folded = fold(said.text)
            if self._matches(said, folded):
                candidate = Candidate(pos, counted(self._terms, folded))
                found.append((said.created_us, pos, candidate))
        return [candidate for *_, candidate in sorted(found, reverse=True)]

    def _matches(self, said: Said[int], folded: str) -> bool:
        if not self._has_filters:
            return any(is_said(branch, folded) for branch in self.query.branches)
        return matches(self.query, folded, self._scope.facts(said))

    def _take_best(self, pool: list[Candidate]) -> None:
        """Look at candidates, the best first, until there is one more than asked for."""
        points = self._points(pool)
        ranked: Sequence[int] = range(len(pool))
        if self.is_ranked:
            ranked = sorted(ranked, key=points.__getitem__, reverse=True)
        done = 0
        while done < len(ranked) and len(self._found) <= self._limit:
            some = ranked[done : done + self._limit + 1 - len(self._found)]
            done += len(some)
            said = self._scope.at_all([pool[number].pos for number in some])
            for number, it in zip(some, said, strict=True):
                if it is not None:
                    self._take(points[number], it)

    def _points(self, pool: list[Candidate]) -> list[float]:
        """Score candidates; where all have all that was asked for, the newest is as good."""
        if not self.is_ranked:
            return [1.0] * len(pool)
        return scores([it.counted for it in pool if it.counted is not None])

    def _take(self, score: float, said: Said[int]) -> None:
        # Words that stand in the text as they were looked for need no folding to be seen.
        folded = None if self._stands_in(said.text) else fold(said.text)
        if folded is None or self._matches(said, folded):
            self._found.append((score, said, folded))

    def _stands_in(self, text: str) -> bool:
        # Beyond Latin, what folds to nothing may part words here that are one.
        if not self._words or not is_latin(text):
            return False
        return all(occurs(term, text) for term in self._words)

    def _hits(self) -> Hits:
        best = sorted(self._found[: self._limit], key=lambda it: (-it[0], -it[1].created_us))
        more = len(self._found) > self._limit
        wanted = terms(self.query)
        hits = [hit_of(said, wanted, score, folded) for score, said, folded in best]
        return Hits(hits=hits, more=more)


def _words_alone(query: Query) -> tuple[Term, ...]:
    """Give the terms of a query that asks for nothing but that they are there."""
    (branch, *others) = query.branches
    return () if others or branch.without or branch.filters else branch.terms


def _is_in(pos: int, ranges: Ranges, starts: list[int]) -> bool:
    at = bisect_right(starts, pos) - 1
    return at >= 0 and pos <= ranges[at][1]
