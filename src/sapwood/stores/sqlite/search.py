"""Search: the index finds candidates, and the messages themselves decide.

What was written since the index was last filled is read through; without an index that can be
used, everything is.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import apsw
import msgspec

from ...model import Hits, Search
from ...rules.fold import fold, is_latin
from ...rules.match import is_said, matches, occurs
from ...rules.query import Query, Term, terms
from ...rules.relevance import is_ranked, scores
from ...rules.search_cursor import cursor_at, place_in, place_is_gone
from ..base.found import Said, counted, counted_terms, hit_of
from ..base.hit_block import COMPARED, HitBlock, HitPlace
from ..relational._sync.dialect import Dialect
from ..relational._sync.lookup import get_session
from .arrivals import ArrivalPlace, Arrivals, Fresh
from .connection import Connection
from .index.file import FeedPlace, IndexFailedError, read_place
from .index.follower import SUMMARY_HOME, home_token
from .index.reader import Candidate, IndexReader, Question
from .search_scope import BodySieve, PositionRanges, Scope

logger = logging.getLogger(__name__)

KIND = "sqlite"


class RankPlace(msgspec.Struct, frozen=True, array_like=True, tag="rank"):
    """Where a ranked search goes on: after so many."""

    shown: int


SqlitePlace = ArrivalPlace | RankPlace | HitPlace


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
        asked = Asked(owner, search, query, place_in(KIND, owner, search, SqlitePlace))
        try:
            # Its snapshot is taken before the database's, so that it can only be behind.
            with self._index.open() as index:
                return self._search(asked, index)
        except IndexFailedError as error:
            logger.warning("searching without the index, which failed: %s", error)
            return self._search(asked, None)

    def _search(self, asked: Asked, index: Connection | None) -> Hits:
        """Search with the index; without it, when it is not there or not complete."""
        session = asked.search.session
        row = None if session is None else get_session(self._dialect, asked.owner, session)
        owner = self._dialect.lookup.find_owner(asked.owner)
        if owner is None:
            return Hits(hits=[], cursor=None)
        scope = Scope(self._tx, owner, row, asked.search.kind)
        feed = None if index is None or asked.is_read_through else self._place(index)
        if index is None or feed is None:
            if asked.is_indexed:
                raise place_is_gone(asked.search)
            self._on_lag()
            return Finder(asked, scope).read_through()
        if feed.lag > 0:
            self._on_lag()
        homes = [home_token(home) for home in scope.homes()]
        question = Question(asked.query, [*homes, SUMMARY_HOME] if homes else [])
        fresh = Fresh(self._tx, feed, owner)
        if is_ranked(asked.query):
            batches = question.ask(index, owner, COMPARED, counting=True)
            return Finder(asked, scope).best(fresh.ranges(), batches)
        arrivals = Arrivals(self._tx, index, owner, scope, fresh)
        return Finder(asked, scope).newest(arrivals, question)

    def _place(self, index: Connection) -> FeedPlace | None:
        try:
            return read_place(index, self._tx)
        except apsw.Error as error:
            raise IndexFailedError(str(error)) from error

    def close(self) -> None:
        """Close what it has open."""
        self._index.close()


class Asked(NamedTuple):
    """A search, and where it goes on."""

    owner: str
    search: Search
    query: Query
    place: SqlitePlace | None

    @property
    def is_read_through(self) -> bool:
        """Whether the page before was found without the index, and so is the next one."""
        return isinstance(self.place, HitPlace)

    @property
    def is_indexed(self) -> bool:
        """Whether only the index knows where to go on."""
        return self.place is not None and not self.is_read_through

    def hits(self, found: Sequence[Found], place: SqlitePlace | None) -> Hits:
        """Return a page: the best first, of equals the newest."""
        best = sorted(found, key=lambda it: (-it.score, -it.said.created_us))
        wanted = terms(self.query)
        return Hits(
            hits=[hit_of(it.said, wanted, it.score, it.folded) for it in best],
            cursor=None if place is None else cursor_at(KIND, self.owner, self.search, place),
        )


class Found(NamedTuple):
    """What matches, its place where that is known, and its folded text where that was needed."""

    score: float
    said: Said[int]
    folded: str | None
    place: ArrivalPlace | None


class Finder:
    """One search: looks at candidates until enough of them match."""

    def __init__(self, asked: Asked, scope: Scope) -> None:
        self._asked = asked
        self._scope = scope
        self._query = asked.query
        self._limit = asked.search.limit
        self._sieve = BodySieve(asked.query)
        self._terms = counted_terms(asked.query)
        self._has_filters = any(branch.filters for branch in asked.query.branches)
        self._words = _words_alone(asked.query)
        self._found: list[Found] = []

    def read_through(self) -> Hits:
        """Read all that there is."""
        block = HitBlock(KIND, self._asked.owner, self._asked.search, self._query)
        for pos, said in self._scope.read(self._scope.ranges(), self._sieve):
            folded = fold(said.text)
            if self._matches(said, folded):
                block.take((said.created_us, pos), said, folded)
        return block.hits()

    def newest(self, arrivals: Arrivals, question: Question) -> Hits:
        """Return the first matches of what came last."""
        place = self._asked.place
        assert not isinstance(place, RankPlace | HitPlace)
        if not arrivals.has(place):
            raise place_is_gone(self._asked.search)
        arrived = arrivals.below(place, question, self._sieve, self._limit + 1)
        while some := list(islice(arrived, self._limit + 1 - len(self._found))):
            said = self._scope.at_all([it.pos for it in some])
            for it, what in zip(some, said, strict=True):
                self._take(1.0, what, it.place)
        shown = self._found[: self._limit]
        return self._asked.hits(shown, shown[-1].place if len(self._found) > len(shown) else None)

    def best(self, unread: PositionRanges, batches: Iterator[list[Candidate]]) -> Hits:
        """Return the best matches of what the index does not know and of what it found."""
        place = self._asked.place
        shown = place.shown if isinstance(place, RankPlace) else 0
        end = shown + self._limit
        read = self._read(unread)
        starts = [first for first, _ in unread]
        for batch in batches:
            if unread:
                # What was read through already is not asked of the index again.
                batch = [it for it in batch if not _is_in(it.pos, unread, starts)]
            self._take_best(read + batch, end + 1)
            read = []
            if len(self._found) > end:
                break
        self._take_best(read, end + 1)
        more = RankPlace(end) if len(self._found) > end else None
        return self._asked.hits(self._found[shown:end], more)

    def _read(self, ranges: PositionRanges) -> list[Candidate]:
        """Read ranges through; return what matches, the newest first."""
        found = []
        for pos, said in self._scope.read(ranges, self._sieve):
            folded = fold(said.text)
            if self._matches(said, folded):
                candidate = Candidate(pos, counted(self._terms, folded))
                found.append((said.created_us, pos, candidate))
        return [candidate for *_, candidate in sorted(found, reverse=True)]

    def _matches(self, said: Said[int], folded: str) -> bool:
        if not self._has_filters:
            return any(is_said(branch, folded) for branch in self._query.branches)
        return matches(self._query, folded, self._scope.facts(said))

    def _take_best(self, pool: list[Candidate], most: int) -> None:
        """Look at candidates, the best first, until so many were found."""
        points = scores([it.counted for it in pool if it.counted is not None])
        ranked = sorted(range(len(pool)), key=points.__getitem__, reverse=True)
        done = 0
        while done < len(ranked) and len(self._found) < most:
            some = ranked[done : done + most - len(self._found)]
            done += len(some)
            said = self._scope.at_all([pool[number].pos for number in some])
            for number, it in zip(some, said, strict=True):
                self._take(points[number], it, None)

    def _take(self, score: float, said: Said[int] | None, place: ArrivalPlace | None) -> None:
        if said is None:
            return
        # Words that stand in the text as they were looked for need no folding to be seen.
        folded = None if self._stands_in(said.text) else fold(said.text)
        if folded is None or self._matches(said, folded):
            self._found.append(Found(score, said, folded, place))

    def _stands_in(self, text: str) -> bool:
        # Beyond Latin, what folds to nothing may part words here that are one.
        is_plain = bool(self._words) and is_latin(text)
        return is_plain and all(occurs(term, text) for term in self._words)


def _words_alone(query: Query) -> tuple[Term, ...]:
    """Return the terms of a query that asks for nothing but that they are there."""
    (branch, *others) = query.branches
    return () if others or branch.without or branch.filters else branch.terms


def _is_in(pos: int, ranges: PositionRanges, starts: list[int]) -> bool:
    at = bisect_right(starts, pos) - 1
    return at >= 0 and pos <= ranges[at][1]
