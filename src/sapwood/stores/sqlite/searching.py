"""Searching: the index finds candidates, and the messages themselves decide.

What was written since the index was last filled is read through; without an index that can be
used, everything is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import apsw

from ...model import Hits, Search
from ...rules.query import Query
from ..relational._sync.dialect import Dialect
from ..relational._sync.lookup import get_session
from .connection import Connection
from .feed import KIND_APPEND, KIND_COVER, KIND_UPDATE
from .finding import Finder
from .index.asking import Question
from .index.entries import SUMMARY_HOME, home_token, merge
from .index.file import IndexFailedError, Place, read_place
from .index.reader import IndexReader
from .said import Scope

logger = logging.getLogger(__name__)

_FRESH = (
    "SELECT first, last, kind FROM change WHERE seq > ? AND owner = ?"
    f" AND kind IN ({KIND_APPEND}, {KIND_UPDATE}, {KIND_COVER})"
)
Ranges = list[tuple[int, int]]


class SqliteSearch:
    """Work on searching."""

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
        self._on_lag = on_lag

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
            self._tell_of_lag()
            found = finder.find(scope.ranges(), iter(()))
        return found

    def _find_with_index(self, finder: Finder, scope: Scope, owner: int) -> Hits | None:
        """Search with the index; None when it is not there, not complete, or fails."""
        try:
            with self._index.open() as index:
                place = None if index is None else self._place(index)
                if index is None or place is None:
                    return None
                homes = [home_token(home) for home in scope.homes()]
                question = Question(finder.query, [*homes, SUMMARY_HOME] if homes else [])
                found = question.ask(index, owner, finder.batch, counting=finder.is_ranked)
                return finder.find(self._fresh(place, owner), found)
        except IndexFailedError as error:
            logger.warning("searching without the index, which failed: %s", error)
            finder.forget()
            return None

    def _place(self, index: Connection) -> Place | None:
        try:
            return read_place(index, self._tx)
        except apsw.Error as error:
            raise IndexFailedError(str(error)) from error

    def _tell_of_lag(self) -> None:
        if self._on_lag is not None:
            self._on_lag()

    def _fresh(self, place: Place, owner: int) -> Ranges:
        """Give where something was written that the index has not followed yet."""
        if not place.is_behind:
            return []
        self._tell_of_lag()
        rows = self._tx.rows(_FRESH, (place.mark.seq, owner))
        spans = (
            (-last, -first) if kind == KIND_COVER else (first, last) for first, last, kind in rows
        )
        return list(merge(spans))

    def close(self) -> None:
        """Close what it has open."""
        self._index.close()
