"""Search: the index finds candidates, and the messages themselves decide.

What was written since the index was last filled is read through; without an index that can be
used, everything is.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator

import apsw

from ...model import Hits, Search
from ...rules.fold import fold, is_latin
from ...rules.match import is_said, matches, occurs
from ...rules.query import Query, Term, terms
from ...rules.relevance import is_ranked, scores
from ..base.found import Said, counted, counted_terms, hit_of
from ..relational._sync.dialect import Dialect
from ..relational._sync.lookup import get_session
from .connection import Connection
from .feed import KIND_APPEND, KIND_COVER, KIND_UPDATE
from .index.entries import SUMMARY_HOME, home_token, join
from .index.file import FeedPlace, IndexFailedError, read_place
from .index.question import Candidate, Question
from .index.reader import IndexReader
from .scope import BodySieve, PositionRanges, Scope

logger = logging.getLogger(__name__)

_FRESH = (
    "SELECT first, last, kind FROM change WHERE seq > ? AND owner = ?"
    f" AND kind IN ({KIND_APPEND}, {KIND_UPDATE}, {KIND_COVER})"
)

COMPARED = 500
"""How many matches are compared with each other, the newest that the index finds."""


class SqliteSearch:
    """Work on searches."""

    def __init__(
        self,
        tx: Connection,
        dialect: Dialect,
        index: IndexReader,
        on_lag: Callable[[], None] | None = None,
    ) -> None:
        self._tx = tx
        self._dialect = dialect
        self._index = index
        self._on_lag = on_lag or (lambda: None)

    def search(self, owner: str, search: Search, query: Query) -> Hits:
        """Find what matches a query."""
        row = None if search.session is None else get_session(self._dialect, owner, search.session)
        number = self._dialect.lookup.find_owner(owner)
        if number is None:
            return Hits(hits=[], more=False)
        scope = Scope(self._tx, number, row)
        finder = Finder(scope, query, search.limit)
        found = self._find_with_index(finder, scope, number)
        if found is None:
            self._on_lag()
            found = finder.find(scope.ranges(), iter(()))
        return found

    def _find_with_index(self, finder: Finder, scope: Scope, owner: int) -> Hits | None:
        """Search with the index; None when it is not there, not complete, or fails."""
        try:
            with self._index.open() as index:
                if index is None or (place := self._place(index)) is None:
                    return None
                homes = [home_token(home) for home in scope.homes()]
                question = Question(finder.query, [*homes, SUMMARY_HOME] if homes else [])
                found = question.ask(index, owner, finder.batch, counting=finder.is_ranked)
                return finder.find(self._fresh(place, owner), found)
        except IndexFailedError as error:
            logger.warning("searching without the index, which failed: %s", error)
            finder.forget()
            return None

    def _place(self, index: Connection) -> FeedPlace | None:
        try:
            return read_place(index, self._tx)
        except apsw.Error as error:
            raise IndexFailedError(str(error)) from error

    def _fresh(self, place: FeedPlace, owner: int) -> PositionRanges:
        """Return where something was written that the index has not followed yet."""
        if place.lag <= 0:
            return []
        self._on_lag()
        rows = self._tx.rows(_FRESH, (place.mark.seq, owner))
        spans = (
            (-last, -first) if kind == KIND_COVER else (first, last) for first, last, kind in rows
        )
        return join(sorted(spans))

    def close(self) -> None:
        """Close what it has open."""
        self._index.close()


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

    def find(self, unread: PositionRanges, batches: Iterator[list[Candidate]]) -> Hits:
        """Return the best matches of what the index does not know and of what it found."""
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

    def _read(self, ranges: PositionRanges) -> list[Candidate]:
        """Read ranges through; return what matches, the newest first."""
        found = []
        for pos, said in self._scope.read(ranges, BodySieve(self.query)):
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
        # Where all have all that was asked for, the newest is as good.
        points, ranked = [1.0] * len(pool), list(range(len(pool)))
        if self.is_ranked:
            points = scores([it.counted for it in pool if it.counted is not None])
            ranked.sort(key=points.__getitem__, reverse=True)
        done = 0
        while done < len(ranked) and len(self._found) <= self._limit:
            some = ranked[done : done + self._limit + 1 - len(self._found)]
            done += len(some)
            said = self._scope.at_all([pool[number].pos for number in some])
            for number, it in zip(some, said, strict=True):
                if it is not None:
                    self._take(points[number], it)

    def _take(self, score: float, said: Said[int]) -> None:
        # Words that stand in the text as they were looked for need no folding to be seen.
        folded = None if self._stands_in(said.text) else fold(said.text)
        if folded is None or self._matches(said, folded):
            self._found.append((score, said, folded))

    def _stands_in(self, text: str) -> bool:
        # Beyond Latin, what folds to nothing may part words here that are one.
        is_plain = bool(self._words) and is_latin(text)
        return is_plain and all(occurs(term, text) for term in self._words)

    def _hits(self) -> Hits:
        best = sorted(self._found[: self._limit], key=lambda it: (-it[0], -it[1].created_us))
        wanted = terms(self.query)
        hits = [hit_of(said, wanted, score, folded) for score, said, folded in best]
        return Hits(hits=hits, more=len(self._found) > self._limit)


def _words_alone(query: Query) -> tuple[Term, ...]:
    """Return the terms of a query that asks for nothing but that they are there."""
    (branch, *others) = query.branches
    return () if others or branch.without or branch.filters else branch.terms


def _is_in(pos: int, ranges: PositionRanges, starts: list[int]) -> bool:
    at = bisect_right(starts, pos) - 1
    return at >= 0 and pos <= ranges[at][1]
