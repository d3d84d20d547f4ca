"""Search: all that is in scope is read through, the newest first, until enough matches.

A query is decided by its rules alone. What its bytes show not to match stays where it is; the rest
comes in pages, so that memory is bounded. The number of statements is that of pages, whatever the
number of messages and sessions that are looked through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Any

from sqlalchemy import (
    LargeBinary,
    Text,
    and_,
    bindparam,
    case,
    cast,
    collate,
    func,
    literal_column,
    or_,
    select,
    tuple_,
)

from ...model import Hits, Search
from ...rules.query import Query
from ...rules.text import fold
from ...rules.tree import is_on_path
from ..base.hit_block import HitOrder
from ..relational._sync.dialect import Dialect
from ..relational._sync.lookup import get_session
from ..relational.position import DEPTH_BITS, place_of, unpack_place
from ..relational.ranking import Ranking
from ..relational.rows import SessionRow
from .lookup import homes_of, in_parts, is_seen, unpack_tags
from .tables import Tables
from .tx import ResultRow, Tx

Told = tuple[bool, str, str | None, int, int, bytes, ResultRow]
"""Whether it is a message, id, role, position, time and bytes of what was said; its session."""
AllTold = Iterator[tuple[tuple[int, int, int, int], Told | None]]
"""By what orders them, the newest first: their time, where they stand, and then messages first."""

PAGE = 200
FIRST_KEYS, MORE_KEYS = 600, 6000
"""How many places are looked up at once: first as many as are nearly always enough."""
MOST_READ, MOST_BYTES = 1000, 4 * 1024 * 1024
"""How much of what may match is read at once."""

_NEWEST = 2**62


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
            return Hits(hits=[], cursor=None)
        ranking = Ranking("sqlalchemy", owner, search, query)
        kind = search.kind if row is None else None
        scope = _Scope(self._tx, number, row, kind, BodyFilter(query), ranking.below)
        newest = merge(scope.messages(), scope.summaries(), key=lambda it: it[0], reverse=True)
        for order, told in newest:
            if told is not None:
                is_message, id, role, pos, created_at, data, (_, session, _, title, tags, _) = told
                about = session, title, unpack_tags(tags)
                ranking.take(order, is_message, id, role, pos, created_at, data, *about)
            if ranking.is_enough:
                break
        return ranking.hits()


class _Scope:
    """All that an owner's sessions of a kind have, or all that one session sees."""

    def __init__(
        self,
        tx: Tx,
        owner: int,
        session: SessionRow | None,
        kind: str | None,
        words: BodyFilter,
        below: HitOrder | None,
    ) -> None:
        self._tx = tx
        self._below: Any = below or (_NEWEST, _NEWEST, _NEWEST, 0)
        self._owner = owner
        self._session = session
        self._words = words
        self._sessions = _TellingSessions(tx, owner, kind)

    def messages(self) -> AllTold:
        """Return messages: first only where they stand, then a part at a time what they say."""
        args = self._words.params()
        if self._session is None:
            args["owner"] = self._owner
        else:
            args |= {"tree": self._session.tree, "homes": homes_of(self._tx, self._session)}
        statement = keys_of(self._tx.tables, self._words, of_session=self._session is not None)
        place = self._below[:3]
        for keys in self._pages(statement, args, place, (FIRST_KEYS, MORE_KEYS)):
            for places in _portions(keys):
                found = {(row[1], row[2]): row for row in self._tx.rows(_said, places=places)}
                rows = [found[it] for it in places if self._words.may_match(found[it][-1])]
                self._sessions.learn({row[3] for row in rows})
                for row in rows:
                    yield (row[0], row[1], row[2], 1), self._message(row)

    def _message(self, row: ResultRow) -> Told | None:
        created_at, _, pos, home, id, role, body = row
        if self._session is not None and not is_seen(self._tx, self._session, pos, home):
            return None
        session = self._sessions.of(pos, home)
        return None if session is None else (True, id, role, pos, created_at, body, session)

    def summaries(self) -> AllTold:
        """Return summaries, each through the oldest session in scope that has it in force."""
        args = {"owner": self._owner}
        # Of a message and a summary at the same place the message comes first.
        at, tree, place, is_message = self._below
        start = at, tree, place + is_message
        for rows in self._pages(self._tx.made(_summaries), args, start, (PAGE, PAGE)):
            having = self._sessions.of_overlays([row[2] for row in rows])
            for created_at, tree, number, id, last, summary in rows:
                only = self._session and self._session.number
                session = next((it for it in having[number] if only in (None, it[0])), None)
                told = False, id, None, last, created_at, summary, session
                yield (created_at, tree, number, 0), None if session is None else told

    def _pages(
        self,
        statement: Any,
        args: dict[str, Any],
        below: tuple[int, int, int],
        sizes: tuple[int, int],
    ) -> Iterator[Sequence[ResultRow]]:
        """Return what a statement finds below a place, a page at a time, the newest first."""
        at, tree, place = below
        size, later = sizes
        while True:
            asked = {**args, "at": at, "in_tree": tree, "place": place, "most": size}
            rows = self._tx.conn.execute(statement, asked).all()
            yield rows
            if len(rows) < size:
                return
            at, tree, place = rows[-1][:3]
            size = later


class _TellingSessions:
    """The sessions that messages and summaries are told as, looked up for many at once.

    Each row has number, id, fork, title, tags and kind.
    """

    def __init__(self, tx: Tx, owner: int, kind: str | None) -> None:
        self._tx = tx
        self._owner = owner
        self._kind = kind
        self._by_home: dict[int, ResultRow] = {}
        self._heirs: dict[int, list[ResultRow]] = {}

    def learn(self, homes: Iterable[int]) -> None:
        """Look up who wrote what has these homes, or inherited it if they are gone."""
        new = sorted(set(homes) - self._by_home.keys() - self._heirs.keys())
        for some in in_parts(new):
            for home, *session in self._tx.rows(_by_homes, homes=some):
                self._by_home[home] = session
        gone = [home for home in new if home not in self._by_home]
        self._heirs |= {home: [] for home in gone}
        for some in in_parts(gone):
            for home, *heir in self._tx.rows(_heirs, homes=some):
                self._heirs[home].append(heir)
        forks = {heir[2] >> DEPTH_BITS for home in gone for heir in self._heirs[home]}
        self._tx.learn_lineages(sorted(forks))

    def of(self, pos: int, home: int) -> ResultRow:
        """Return the session that wrote a message; if it is gone, the oldest that stands on it.

        None when that is of another kind than is asked for.
        """
        if home in self._by_home:
            return self._by_home[home] if self._is_asked(self._by_home[home]) else None
        for heir in filter(self._is_asked, self._heirs[home]):
            if is_on_path(place_of(pos), unpack_place(heir[2]), self._tx.lineage):
                return heir
        return None

    def of_overlays(self, overlays: Sequence[int]) -> dict[int, list[ResultRow]]:
        """Return the sessions that have each of some overlays in force, the oldest first."""
        found: dict[int, list[ResultRow]] = defaultdict(list)
        for some in in_parts(overlays):
            for overlay, *session in self._tx.rows(_in_force, overlays=some, owner=self._owner):
                if self._is_asked(session):
                    found[overlay].append(session)
        return found

    def _is_asked(self, session: ResultRow) -> bool:
        return self._kind in (None, session[-1])


def _portions(keys: Sequence[ResultRow]) -> Iterator[list[tuple[int, int]]]:
    """Return places in portions: of so many messages, or of so many bytes."""
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


def _said(t: Tables) -> Any:
    m = t.message.c
    wanted = tuple_(m.tree, m.pos).in_(bindparam("places", expanding=True))
    said = _json_in(t.kind, m.body)
    return select(m.created_at, m.tree, m.pos, m.home, m.id, m.role, said).where(wanted)


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
    return older_than(columns, o.created_at, o.tree, o.number)


def _sessions(t: Tables, of: Any) -> Any:
    s, p = t.session.c, t.profile.c
    return (
        select(of, s.number, s.id, s.fork, p.title, p.tags, s.kind)
        .select_from(t.session.join(t.profile, p.session == s.number))
        .order_by(s.number)
    )


def _by_homes(t: Tables) -> Any:
    s = t.session.c
    return _sessions(t, s.home).where(s.home.in_(bindparam("homes", expanding=True)))


def _heirs(t: Tables) -> Any:
    s, i = t.session.c, t.inherited.c
    standing = and_(i.session == s.number, i.home.in_(bindparam("homes", expanding=True)))
    return _sessions(t, i.home).join(t.inherited, standing)


def _in_force(t: Tables) -> Any:
    s, f = t.session.c, t.in_force.c
    having = and_(f.session == s.number, f.overlay.in_(bindparam("overlays", expanding=True)))
    return _sessions(t, f.overlay).join(t.in_force, having).where(s.owner == bindparam("owner"))


class BodyFilter:
    """The words of a query, by which a body that cannot match is told."""

    def __init__(self, query: Query) -> None:
        self._sides = [
            [word for term in side.terms for word in term.words if _is_stored_as_is(word)]
            for side in query.branches
        ]
        self._quick = [[word.encode() for word in side] for side in self._sides]
        # The sides that can match a body in ASCII; nothing is left out if one has no words.
        ascii_sides = [side for side in self._sides if all(word.isascii() for word in side)]
        self._named = [
            {f"word_{n}_{at}": word for at, word in enumerate(side)}
            for n, side in enumerate(ascii_sides if all(self._sides) else [])
        ]

    def may_match(self, body: bytes) -> bool:
        """Whether any side of the query may be in a body."""
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

    def params(self) -> dict[str, Any]:
        """Return the words that the server looks for, by their names in `condition`."""
        return {name: word for side in self._named for name, word in side.items()}

    def condition(self, kind: str, body: Any) -> Any:
        """Return what the server can tell; None when every body may match."""
        if not all(self._sides):
            return None
        found = [and_(*(_contains(kind, body, name) for name in side)) for side in self._named]
        return or_(_has_other_letters(kind, body), *found)


def _is_stored_as_is(word: str) -> bool:
    """Whether a word of a text looks the same in JSON."""
    return word.isprintable() and not {*word} & {'"', "\\"}


def _json_in(kind: str, body: Any) -> Any:
    """Return what of a body is JSON: not the bytes of files, which stand behind a NUL."""
    nul: Any = literal_column("decode('00', 'hex')" if kind == "postgresql" else "x'00'")
    end = func.position(nul.op("IN")(body)) if kind == "postgresql" else func.instr(body, nul)
    return case((end > 0, func.substr(body, 1, end - 1, type_=body.type)), else_=body)


def _contains(kind: str, body: Any, name: str) -> Any:
    """Return the condition that a body has a word in ASCII, in whatever case."""
    word = bindparam(name, type_=Text())
    if kind == "postgresql":
        low = func.lower(collate(func.encode(body, "escape"), "C"))
        return func.strpos(low, word) > 0
    if kind == "mysql":
        # To a character set in which every byte is a letter.
        latin1 = func.convert(body.op("USING")(literal_column("latin1")))
        return func.instr(func.lower(latin1), word) > 0
    return func.instr(func.lower(cast(body, Text)), word) > 0


def _has_other_letters(kind: str, body: Any) -> Any:
    """Return the condition that a body is not in ASCII; it may hold for one that is."""
    if kind == "postgresql":
        # The first byte of such a letter is shown as a backslash and three digits from 302 on.
        return func.strpos(func.encode(body, "escape"), "\\3") > 0
    if kind == "mysql":
        text = func.convert(body.op("USING")(literal_column("utf8mb4")))
        return func.char_length(text) != func.length(body)
    return func.length(cast(body, Text)) != func.length(cast(body, LargeBinary))


def keys_of(t: Tables, words: BodyFilter, *, of_session: bool) -> Any:
    """Return the query of where messages stand, and their size: an owner's, or those of homes."""
    m = t.message.c
    scope = m.owner == bindparam("owner")
    if of_session:
        # Without the owner: the index by time would lead through all that the owner has.
        at_home = m.home.in_(bindparam("homes", expanding=True))
        scope = and_(m.tree == bindparam("tree"), at_home)
    size = func.octet_length(m.body) if t.kind == "postgresql" else func.length(m.body)
    wanted = select(m.created_at, m.tree, m.pos, size).where(scope, m.body.is_not(None))
    condition = words.condition(t.kind, _json_in(t.kind, m.body))
    if condition is not None:
        wanted = wanted.where(condition)
    return older_than(wanted, m.created_at, m.tree, m.pos)


def older_than(columns: Any, time: Any, tree: Any, key: Any) -> Any:
    """Return the condition that begins after a place, the order, and the limit."""
    at, in_tree = bindparam("at", type_=time.type), bindparam("in_tree", type_=tree.type)
    rest = or_(tree < in_tree, and_(tree == in_tree, key < bindparam("place")))
    wanted = and_(time <= at, or_(time < at, rest))
    ordered = columns.where(wanted).order_by(time.desc(), tree.desc(), key.desc())
    return ordered.limit(bindparam("most"))
