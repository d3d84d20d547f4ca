"""Searching: all that is in scope is read through, the newest first, until enough matches.

A query is decided by its rules alone. The rows come in pages, so that memory is bounded; what
their bytes show not to match is not decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import Any

from sqlalchemy import and_, bindparam, or_, select

from ...errors import StoreCorruptError
from ...model import EntryRef, Hits, Search
from ...rules.query import Query
from ...rules.storedtext import stored_text
from ...rules.text import fold
from ...rules.tree import is_on_path
from ..embedded.found import SUMMARY_ROLE, Said
from .found import Found
from .lookup import find_owner, get_session, is_seen
from .position import place_of, public, unpack_place
from .rows import SessionRow, summary_text, unpack_tags
from .tables import Tables
from .tx import Row, Statement, Tx

PAGE = 200
_NEWEST = 2**62
Place = tuple[int, int, int]
"""What orders what was said, the newest first: its time, and where it stands."""


class SqlSearch:
    """Work on searching."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def search(self, owner: str, search: Search, query: Query) -> Hits:
        """Find what matches a query."""
        row = None if search.session is None else get_session(self._tx, owner, search.session)
        number = find_owner(self._tx, owner)
        if number is None:
            return Hits(hits=[], more=False)
        found = Found(query, search.limit)
        scope = _Scope(self._tx, number, row)
        for said, title, tags in scope.newest_first(Sieve(query)):
            found.take(said, title, tags)
            if found.is_enough:
                break
        return found.hits()


class _Scope:
    """All that an owner has, or all that one session sees."""

    def __init__(self, tx: Tx, owner: int, session: SessionRow | None) -> None:
        self._tx = tx
        self._owner = owner
        self._session = session
        self._tellers: dict[int, Row] = {}
        self._heirs: dict[int, Any] = {}

    def newest_first(self, sieve: Sieve) -> Iterator[tuple[Said[None], str | None, list[str]]]:
        """Give what is in scope and not sifted out, with its session's title and tags."""
        messages = self._rows(_messages, "pos", sieve)
        summaries = self._rows(_summaries, "number", None)
        for _, is_message, row in merge(messages, summaries, key=lambda it: it[0]):
            told = self._message(row) if is_message else self._summary(row)
            if told is not None:
                yield told

    def _rows(
        self, statement: Statement, key: str, sieve: Sieve | None
    ) -> Iterator[tuple[Place, bool, Row]]:
        at, tree, place = _NEWEST, _NEWEST, _NEWEST
        while True:
            args = {"owner": self._owner, "at": at, "in_tree": tree, "place": place}
            rows = self._tx.rows(statement, **args)
            for row in rows:
                if sieve is None or sieve.may_match(row[-1]):
                    yield (-row[0], -row[1], -row[2]), sieve is not None, row
            if len(rows) < PAGE:
                return
            at, tree, place = rows[-1][:3]

    def _message(self, row: Row) -> tuple[Said[None], str | None, list[str]] | None:
        created_at, tree, pos, home, id, role, body = row
        only = self._session
        if only is not None and (tree != only.tree or not is_seen(self._tx, only, pos, home)):
            return None
        teller = self._teller(home) or self._heir(pos, home)
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

    def _teller(self, home: int) -> Row:
        """Give the session that wrote a message, if it is there."""
        if home not in self._tellers:
            self._tellers[home] = self._tx.row(_by_home, home=home)
        return self._tellers[home]

    def _heir(self, pos: int, home: int) -> Row:
        """Give the oldest session that stands on a message whose own is gone."""
        if home not in self._heirs:
            self._heirs[home] = self._tx.rows(_heirs, home=home)
        for heir in self._heirs[home]:
            if is_on_path(place_of(pos), unpack_place(heir[2]), self._tx.lineage):
                return heir
        return None

    def _summary(self, row: Row) -> tuple[Said[None], str | None, list[str]] | None:
        """Give a summary through the oldest session in scope that has it in force."""
        created_at, _, number, id, last, summary = row
        tellers = self._tx.rows(_in_force, overlay=number, owner=self._owner)
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


def _about(teller: Row) -> tuple[str | None, list[str]]:
    title, tags = teller[3], teller[4]
    return None if title is None else title.decode(), unpack_tags(tags)


class Sieve:
    """Tells from the stored bytes of a message that it cannot match, without decoding it."""

    def __init__(self, query: Query) -> None:
        self._sides = [
            [word for term in side.terms for word in term.words if _is_stored_as_is(word)]
            for side in query.branches
        ]
        self._quick = [[word.encode() for word in side] for side in self._sides]

    def may_match(self, body: bytes) -> bool:
        """Tell whether any side of the query may be in a body."""
        low = body.lower()
        for side in self._quick:
            if all(word in low for word in side):
                return True
        if low.isascii():
            return False
        try:
            folded = fold(body.decode())
        except UnicodeDecodeError:
            return False
        return any(all(word in folded for word in side) for side in self._sides)


def _is_stored_as_is(word: str) -> bool:
    """Tell whether a word of a text looks the same in JSON."""
    return word.isprintable() and not {*word} & {'"', "\\"}


def _older(columns: Any, time: Any, tree: Any, key: Any) -> Any:
    """Give the condition that begins after a place, and the order."""
    at, in_tree = bindparam("at", type_=time.type), bindparam("in_tree", type_=tree.type)
    rest = or_(tree < in_tree, and_(tree == in_tree, key < bindparam("place")))
    wanted = and_(time <= at, or_(time < at, rest))
    return columns.where(wanted).order_by(time.desc(), tree.desc(), key.desc()).limit(PAGE)


def _messages(t: Tables) -> Any:
    m = t.message.c
    columns = select(m.created_at, m.tree, m.pos, m.home, m.id, m.role, m.body).where(
        m.owner == bindparam("owner"), m.body.is_not(None)
    )
    return _older(columns, m.created_at, m.tree, m.pos)


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
    return _older(columns, o.created_at, o.tree, o.number)


def _tellers(t: Tables) -> Any:
    s, p = t.session.c, t.profile.c
    return select(s.number, s.id, s.fork, p.title, p.tags).select_from(
        t.session.join(t.profile, p.session == s.number)
    )


def _by_home(t: Tables) -> Any:
    return _tellers(t).where(t.session.c.home == bindparam("home"))


def _heirs(t: Tables) -> Any:
    s, i = t.session.c, t.inherited.c
    standing = select(i.session).where(i.home == bindparam("home"))
    return _tellers(t).where(s.number.in_(standing)).order_by(s.number)


def _in_force(t: Tables) -> Any:
    s, f = t.session.c, t.in_force.c
    having = select(f.session).where(f.overlay == bindparam("overlay"))
    wanted = and_(s.owner == bindparam("owner"), s.number.in_(having))
    return _tellers(t).where(wanted).order_by(s.number)
