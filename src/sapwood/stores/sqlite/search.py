"""Search: the index finds candidates, and the messages themselves decide.

What was written since the index was last filled is read through; without an index that can be
used, everything is.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import apsw
import msgspec

from ...model import EntryRef, Hits, Search
from ...rules.codec import decode_json
from ...rules.fold import fold, is_latin
from ...rules.match import MessageFacts, is_said, matches, occurs
from ...rules.query import Query, Term, terms
from ...rules.relevance import is_ranked, scores
from ...rules.tree import is_on_path
from ..base.found import SUMMARY_ROLE, Said, counted, counted_terms, hit_of
from ..relational._sync.dialect import Dialect
from ..relational._sync.lookup import get_session
from ..relational.position import public, unpack_place, whole_segment
from ..relational.rows import POS, SessionRow
from .connection import Connection
from .feed import KIND_APPEND, KIND_COVER, KIND_UPDATE
from .index.file import FeedPlace, IndexFailedError, read_place
from .index.follower import SUMMARY_HOME, home_token, join_ranges
from .index.reader import Candidate, IndexReader, Question
from .lookup import HOMES_BELOW, homes_above, is_seen
from .rows import MESSAGE_COLUMNS, OVERLAY_COLUMNS, sound_overlay, text_in

logger = logging.getLogger(__name__)

PositionRanges = list[tuple[int, int]]

COMPARED = 500
"""How many matches are compared with each other, the newest that the index finds."""

_COLUMNS = f"{MESSAGE_COLUMNS}, s.number, s.id, s.owner, s.kind"
_MESSAGE = (
    f"SELECT {_COLUMNS} FROM message m LEFT JOIN session s ON s.home = m.home"
    " WHERE m.pos = ? AND m.body IS NOT NULL"
)
_MESSAGES = (
    f"SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN message m ON m.pos = j.value"
    " LEFT JOIN session s ON s.home = m.home WHERE m.body IS NOT NULL"
)
_BODIES = "SELECT pos, body FROM message WHERE pos BETWEEN ? AND ? AND body IS NOT NULL"
_SUMMARY = f"SELECT {OVERLAY_COLUMNS} FROM overlay o WHERE number = ?"
_HEIRS = (
    f"{HOMES_BELOW} SELECT s.number, s.id, s.fork, s.owner, s.kind FROM down"
    " JOIN session s ON s.home = down.home ORDER BY s.number"
)
_FRESH = (
    "SELECT first, last, kind FROM change WHERE seq > ? AND owner = ?"
    f" AND kind IN ({KIND_APPEND}, {KIND_UPDATE}, {KIND_COVER})"
)


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
        scope = Scope(self._tx, number, row, search.kind)
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
        return join_ranges(sorted(spans))

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


class Scope:
    """All that an owner's sessions of a kind have, or all that one session sees."""

    def __init__(
        self, tx: Connection, owner: int, session: SessionRow | None, kind: str | None
    ) -> None:
        self._tx = tx
        self._owner = owner
        self._session = session
        self._kind = kind if session is None else None

    def homes(self) -> list[int]:
        """Return the homes of what a session sees; some of what is there it may not see."""
        if self._session is None:
            return []
        home = self._session.home
        return [home, *homes_above(self._tx, home)]

    def ranges(self) -> PositionRanges:
        """Return the ranges of all that is in scope, and maybe more."""
        if self._session is None:
            where, args = "s.owner = ?1", (self._owner,)
        else:
            where, args = "s.number = ?1", (self._session.number,)
        segments = self._tx.rows(
            f"WITH RECURSIVE seen (home) AS (SELECT s.home FROM session s WHERE {where}"
            " UNION SELECT d.above FROM seen JOIN descent d ON d.home = seen.home)"
            " SELECT g.number FROM seen JOIN segment g ON g.home = seen.home",
            args,
        )
        overlays = self._tx.rows(
            "SELECT DISTINCT f.overlay FROM session s JOIN in_force f ON f.session = s.number"
            f" WHERE {where}",
            args,
        )
        ranges = [whole_segment(number) for (number,) in segments]
        return [*ranges, *((-number, -number) for (number,) in overlays)]

    def read(self, ranges: PositionRanges, sieve: BodySieve) -> Iterator[tuple[int, Said[int]]]:
        """Read ranges of positions through; yield what is in scope and may match."""
        for first, last in ranges:
            found: Iterable[int] = range(first, last + 1)
            if first >= 0:
                bodies = self._tx.raw.execute(_BODIES, (first, last))
                found = (pos for pos, body in bodies if sieve.may_match(body))
            for pos in found:
                said = self.at(pos)
                if said is not None:
                    yield pos, said

    def at_all(self, positions: Sequence[int]) -> list[Said[int] | None]:
        """Return what stands at positions now, with one query for all messages among them."""
        messages = {
            row[POS]: row
            for row in self._tx.rows(_MESSAGES, (msgspec.json.encode(positions).decode(),))
        }
        return [
            self._message(messages[pos]) if pos in messages else self.at(pos) if pos < 0 else None
            for pos in positions
        ]

    def at(self, pos: int) -> Said[int] | None:
        """Return what stands at a position now; None when that is nothing, or not in scope."""
        row = self._tx.row(_SUMMARY if pos < 0 else _MESSAGE, (abs(pos),))
        if row is None:
            return None
        return self._summary(row) if pos < 0 else self._message(row)

    def _message(self, row: tuple[Any, ...]) -> Said[int] | None:
        *stored, number, session, owner, kind = row
        pos, home, id, role, _, _, created_at, *_ = stored
        if session is None or number is None:
            number, session, owner = self._heir(pos, home)
        elif not self._is_asked(kind):
            return None
        if owner != self._owner or session is None or number is None:
            return None
        if self._session is not None and not is_seen(self._tx, self._session, pos, home):
            return None
        if (text := text_in(tuple(stored))) is None:
            return None
        entry = EntryRef(kind="message", id=id)
        return Said(number, session, entry, role, public(pos), created_at, text)

    def _heir(self, pos: int, home: int) -> tuple[int | None, str | None, int | None]:
        """Return the oldest session in scope that stands on a message whose own is gone."""
        place = unpack_place(pos)
        for number, id, fork, owner, kind in self._tx.rows(_HEIRS, (home,)):
            is_on_it = place and is_on_path(place, unpack_place(fork), self._tx.lineage)
            if is_on_it and self._is_asked(kind):
                return number, id, owner
        return None, None, None

    def _is_asked(self, kind: str) -> bool:
        return self._kind in (None, kind)

    def _summary(self, row: tuple[Any, ...]) -> Said[int] | None:
        """Return a summary through the oldest session in scope that has it in force."""
        only = None if self._session is None else self._session.number
        found = self._tx.row(
            "SELECT s.number, s.id FROM in_force f JOIN session s ON s.number = f.session"
            " WHERE f.overlay = ?1 AND s.owner = ?2 AND (?3 IS NULL OR s.number = ?3)"
            " AND (?4 IS NULL OR s.kind = ?4) ORDER BY s.number",
            (row[0], self._owner, only, self._kind),
        )
        if found is None or (overlay := sound_overlay(row)) is None:
            return None
        number, session = found
        entry = EntryRef(kind="overlay", id=overlay.id)
        at, text = overlay.last, overlay.summary
        return Said(number, session, entry, SUMMARY_ROLE, at, overlay.created_us, text)

    def facts(self, said: Said[int]) -> MessageFacts:
        """Return what the filters of a query ask of it."""
        sql = "SELECT title, tags FROM profile WHERE session = ?"
        found: Any = self._tx.row(sql, (said.session,)) or (None, "[]")
        title, tags = found
        return MessageFacts(
            role=said.role,
            created_us=said.created_us,
            title=title,
            tags=[] if tags == "[]" else decode_json(tags, f"session {said.session_id!r}"),
        )


class BodySieve:
    """Sees in the stored bytes of a message that it cannot match, without decoding it."""

    def __init__(self, query: Query) -> None:
        self._sides = [
            [word for term in side.terms for word in term.words if _is_stored_as_is(word)]
            for side in query.branches
        ]
        self._quick = [[word.encode() for word in side] for side in self._sides]

    def may_match(self, body: bytes) -> bool:
        """Whether any side of the query may be in a body."""
        low = body.lower()
        if any(all(word in low for word in side) for side in self._quick):
            return True
        if low.isascii():
            return False
        folded = fold(body.decode())
        return any(all(word in folded for word in side) for side in self._sides)


def _is_stored_as_is(word: str) -> bool:
    """Whether a word of a text looks the same in JSON."""
    return word.isprintable() and not {*word} & {'"', "\\"}
