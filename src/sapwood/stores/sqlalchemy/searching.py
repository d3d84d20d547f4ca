"""Searching: all that is in scope is read through, the newest first, until enough matches.

A query is decided by its rules alone. What its bytes show not to match stays where it is; the rest
comes in pages, so that memory is bounded. The number of statements is that of pages, whatever the
number of messages and sessions that are looked through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any

from sqlalchemy import bindparam, select, tuple_

from ...errors import StoreCorruptError
from ...model import EntryRef, Hits, Search
from ...rules.query import Query
from ...rules.stored_text import stored_text
from ..base.found import SUMMARY_ROLE, Said
from ..relational._sync.dialect import Dialect
from ..relational._sync.lookup import get_session
from ..relational.position import public
from ..relational.rows import SessionRow, summary_text
from .found import Found
from .lookup import homes_of, is_seen
from .rows import unpack_tags
from .sieve import Sieve, keys_of, older
from .tables import Tables
from .tellers import Tellers
from .tx import Row, Tx

PAGE = 200
FIRST_KEYS, MORE_KEYS = 600, 6000
"""How many places are looked up at once: first as many as are nearly always enough."""
MOST_READ, MOST_BYTES = 1000, 4 * 1024 * 1024
"""How much of what may match is read at once."""
_NEWEST = 2**62
Place = tuple[int, int, int]
"""What orders what was said, the newest first: its time, and where it stands."""
Told = tuple[Said[None], str | None, list[str]]
"""What was said, with its session's title and tags."""


class SqlSearch:
    """Work on searching."""

    def __init__(self, tx: Tx, dialect: Dialect) -> None:
        self._tx = tx
        self._dialect = dialect

    def search(self, owner: str, search: Search, query: Query) -> Hits:
        """Find what matches a query."""
        row = None if search.session is None else get_session(self._dialect, owner, search.session)
        number = self._dialect.lookup.find_owner(owner)
        if number is None:
            return Hits(hits=[], more=False)
        found = Found(query, search.limit)
        scope = _Scope(self._tx, number, row, Sieve(query))
        for said, title, tags in scope.newest_first():
            found.take(said, title, tags)
            if found.is_enough:
                break
        return found.hits()


class _Scope:
    """All that an owner has, or all that one session sees."""

    def __init__(self, tx: Tx, owner: int, session: SessionRow | None, sieve: Sieve) -> None:
        self._tx = tx
        self._owner = owner
        self._session = session
        self._sieve = sieve
        self._tellers = Tellers(tx, owner)

    def newest_first(self) -> Iterator[Told]:
        """Give what is in scope and not sifted out, with its session's title and tags."""
        for _, told in merge(self._messages(), self._summaries(), key=lambda it: it[0]):
            if told is not None:
                yield told

    def _messages(self) -> Iterator[tuple[Place, Told | None]]:
        """Give messages: first only where they stand, then a part at a time what they say."""
        args = self._sieve.params()
        if self._session is None:
            args["owner"] = self._owner
        else:
            args |= {"tree": self._session.tree, "homes": homes_of(self._tx, self._session)}
        statement = keys_of(self._tx.tables, self._sieve, of_session=self._session is not None)
        for keys in self._pages(statement, args, (FIRST_KEYS, MORE_KEYS)):
            for some in _portions(keys):
                yield from self._told(some)

    def _pages(
        self, statement: Any, args: dict[str, Any], sizes: tuple[int, int]
    ) -> Iterator[Sequence[Row]]:
        """Give what a statement finds, a page at a time, the newest first."""
        at, tree, place = _NEWEST, _NEWEST, _NEWEST
        size, later = sizes
        while True:
            asked = {**args, "at": at, "in_tree": tree, "place": place, "most": size}
            rows = self._tx.conn.execute(statement, asked).all()
            yield rows
            if len(rows) < size:
                return
            at, tree, place = rows[-1][:3]
            size = later

    def _told(self, places: Sequence[tuple[int, int]]) -> Iterator[tuple[Place, Told | None]]:
        found = {(row[1], row[2]): row for row in self._tx.rows(_said, places=places)}
        rows = [found[place] for place in places if self._sieve.may_match(found[place][-1])]
        self._tellers.learn({row[3] for row in rows})
        for row in rows:
            yield (-row[0], -row[1], -row[2]), self._message(row)

    def _message(self, row: Row) -> Told | None:
        created_at, _, pos, home, id, role, body = row
        if self._session is not None and not is_seen(self._tx, self._session, pos, home):
            return None
        teller = self._tellers.of(pos, home)
        if teller is None:
            return None
        try:
            text = stored_text(body, id)
        except StoreCorruptError:
            # Whoever reads the message is told; the others are still to be found.
            return None
        entry = EntryRef(kind="message", id=id)
        said = Said(None, teller[1], entry, role, public(pos), created_at, text)
        return said, *_about(teller)

    def _summaries(self) -> Iterator[tuple[Place, Told | None]]:
        args = {"owner": self._owner}
        for rows in self._pages(self._tx.made(_summaries), args, (PAGE, PAGE)):
            tellers = self._tellers.of_overlays([row[2] for row in rows])
            for row in rows:
                yield (-row[0], -row[1], -row[2]), self._summary(row, tellers[row[2]])

    def _summary(self, row: Row, tellers: list[Row]) -> Told | None:
        """Give a summary through the oldest session in scope that has it in force."""
        created_at, _, _, id, last, summary = row
        if self._session is not None:
            tellers = [it for it in tellers if it[0] == self._session.number]
        if not tellers:
            return None
        try:
            text = summary_text(summary, id)
        except StoreCorruptError:
            return None
        entry = EntryRef(kind="overlay", id=id)
        said = Said(None, tellers[0][1], entry, SUMMARY_ROLE, public(last), created_at, text)
        return said, *_about(tellers[0])


def _portions(keys: Sequence[Row]) -> Iterator[list[tuple[int, int]]]:
    """Give places in portions: of so many messages, or of so many bytes."""
    portion: list[tuple[int, int]] = []
    size = 0
    for _, tree, pos, length in keys:
        if portion and (len(portion) == MOST_READ or size + length > MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append((tree, pos))
        size += length
    if portion:
        yield portion


def _about(teller: Row) -> tuple[str | None, list[str]]:
    title, tags = teller[3], teller[4]
    return None if title is None else title.decode(), unpack_tags(tags)


def _said(t: Tables) -> Any:
    m = t.message.c
    wanted = tuple_(m.tree, m.pos).in_(bindparam("places", expanding=True))
    return select(m.created_at, m.tree, m.pos, m.home, m.id, m.role, m.body).where(wanted)


def _summaries(t: Tables) -> Any:
    o, f, s = t.overlay.c, t.in_force.c, t.session.c
    shown = (
        select(f.overlay)
        .select_from(t.session.join(t.in_force, f.session == s.number))
        .where(s.owner == bindparam("owner"))
    )
    columns = select(o.created_at, o.tree, o.number, o.id, o.last, o.summary).where(
        o.number.in_(shown)
    )
    return older(columns, o.created_at, o.tree, o.number)
