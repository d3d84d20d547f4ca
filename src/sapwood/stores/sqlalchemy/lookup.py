"""Which session is meant, which messages it sees, and the columns that records are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import bindparam, case, func, literal_column, select

from ...model import ROOT, Root
from ...rules.tree import is_on_path
from ..relational._sync.lookup import LookupStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH, place_of, unpack_place
from ..relational.rows import Profile, SeenMessage, SessionRow, Touches
from .direct import number
from .tables import Tables
from .tx import ROWS_AT_ONCE, ResultRow, Tx, select_by

LOCKING_TRIES = 10

_OWNER = select_by("owner", "name", of=["number"])
_INHERITED = select_by("inherited", "session", of=["home"])
_ID_AT = select_by("message", "tree", "pos", of=["id"])

# columns


def session_columns(t: Tables) -> list[Any]:
    """Return the columns of a `SessionRow`; whether its tree was edited is not kept here."""
    s = t.session.c
    return [literal_column("1") if key == "edited" else s[key] for key in SessionRow._fields]


def message_columns(m: Any) -> list[Any]:
    """Return the columns of which a message is made."""
    keys = ("pos", "home", "id", "role", "tokens", "version", "created_at", "body")
    return [m.c[key] for key in keys]


def overlay_columns(t: Tables) -> list[Any]:
    """Return the columns of which an overlay is made."""
    keys = ("number", "id", "first", "last", "tokens", "covered_tokens", "created_by")
    return [t.overlay.c[key] for key in (*keys, "created_at", "metadata", "summary")]


def held_at_tip(t: Tables) -> Any:
    """Return where the data stands that holds at a session's tip, as a column of its row."""
    s, d, g = t.session.c, t.data.c, t.segment.c
    base = s.tip - s.tip.bitwise_and(number(MAX_DEPTH))
    nearest = select(func.max(d.pos)).where(d.tree == s.tree, d.pos.between(base, s.tip))
    segment = s.tip.bitwise_rshift(number(DEPTH_BITS))
    inherited = select(g.data_at).where(g.number == segment)
    held = func.coalesce(
        nearest.correlate(t.session).scalar_subquery(),
        inherited.correlate(t.session).scalar_subquery(),
        number(0),
    )
    return case((s.has_data == number(1), held), else_=number(0)).label("data_at")


def records(t: Tables, *more: Any) -> Any:
    """Return the query of sessions' records, after some columns more."""
    s, p = t.session, t.profile
    tip = t.message.alias("tip")
    keys = ("fork", "context", "messages", "version", "created_at", "active_at")
    columns = [
        s.c.id,
        s.c.tip,
        tip.c.id.label("tip_id"),
        *(s.c[key] for key in keys),
        *(p.c[key] for key in Profile._fields),
        s.c.closed,
        held_at_tip(t),
        s.c.kind,
        func.coalesce(s.c.updated_at, s.c.active_at),
    ]
    joined = s.join(p, p.c.session == s.c.number).outerjoin(
        tip, (tip.c.tree == s.c.tree) & (tip.c.pos == s.c.tip)
    )
    return select(*more, *columns).select_from(joined)


def pack_tags(tags: list[str]) -> bytes:
    """Pack tags so that each can be looked for: a tag has no line end in it."""
    return "".join(f"\n{tag}\n" for tag in tags).encode()


def unpack_tags(data: bytes) -> list[str]:
    """Unpack tags."""
    return data.decode().strip("\n").split("\n\n") if data else []


def key_of(owner: str, session: str) -> bytes:
    """Return the key of a session: what it is found and locked by, in one short column."""
    name = owner.encode()
    return hashlib.sha256(len(name).to_bytes(2) + name + session.encode()).digest()


# owners


def find_owner(tx: Tx, name: str) -> int | None:
    """Find an owner's number."""
    tx.owner_name = name
    found: int | None = tx.value(_OWNER, name=name)
    return found


# sessions


def _locked(tx: Tx, key: bytes, tree: int) -> SessionRow | None:
    row = None
    for _ in range(LOCKING_TRIES):
        lock_tree(tx, tree)
        row = _row(tx.row(_lock_session, key=key))
        # A clear may have moved it to another tree before the lock was had.
        if row is None or row.tree == tree:
            break
        tree = row.tree
    return row


def _row(found: ResultRow) -> SessionRow | None:
    return None if found is None else SessionRow._make(found)


def lock_tree(tx: Tx, tree: int) -> None:
    """Wait until nobody else changes a tree."""
    if tx.kind != "sqlite":
        tx.rows(_lock_tree, tree=tree)


def lock_row(tx: Tx, number: int) -> SessionRow | None:
    """Lock a session by its number; its tree is locked already."""
    return _row(tx.row(_lock_number, number=number))


def _session(t: Tables) -> Any:
    return select(*session_columns(t)).where(t.session.c.key == bindparam("key"))


def _lock_session(t: Tables) -> Any:
    return _session(t).with_for_update()


def _lock_number(t: Tables) -> Any:
    found = select(*session_columns(t)).where(t.session.c.number == bindparam("number"))
    return found.with_for_update()


def _lock_tree(t: Tables) -> Any:
    return select(t.home.c.number).where(t.home.c.number == bindparam("tree")).with_for_update()


# messages


def homes_of(tx: Tx, session: SessionRow) -> list[int]:
    """Return the homes of the messages that a session may see."""
    if not session.fork:
        return [session.home]
    return [session.home, *(home for (home,) in tx.rows(_INHERITED, session=session.number))]


def in_parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Return values in parts that fit into a statement."""
    for start in range(0, len(values), ROWS_AT_ONCE):
        yield values[start : start + ROWS_AT_ONCE]


def id_at(tx: Tx, tree: int, pos: int) -> str | Root:
    """Return the id of the message at a position."""
    if not pos:
        return ROOT
    found: str = tx.value(_ID_AT, tree=tree, pos=pos)
    return found


def is_seen(tx: Tx, session: SessionRow, pos: int, home: int) -> bool:
    """Whether a session sees the message at a position."""
    if home == session.home:
        return True
    return is_on_path(place_of(pos), unpack_place(session.fork), tx.lineage)


def rows_at(tx: Tx, tree: int, positions: Iterable[int]) -> dict[int, ResultRow]:
    """Return the rows of the messages at positions."""
    return {
        row[0]: row
        for some in in_parts(list(positions))
        for row in tx.rows(_at, tree=tree, positions=some)
    }


def _seen(t: Tables) -> Any:
    m = t.message.c
    # Without the tree, which the homes are of: by it a server might go through all its messages.
    return select(m.id, m.pos, m.home, m.body.is_not(None)).where(
        m.home.in_(bindparam("homes", expanding=True)),
        m.id.in_(bindparam("ids", expanding=True)),
    )


def _at(t: Tables) -> Any:
    m = t.message
    return select(*message_columns(m)).where(
        m.c.tree == bindparam("tree"), m.c.pos.in_(bindparam("positions", expanding=True))
    )


def homes_with(t: Tables) -> Any:
    """Return the query of an owner's sessions that wrote a live message of an id."""
    m, s = t.message.c, t.session.c
    return (
        select(s.id)
        .select_from(t.session.join(t.message, m.home == s.home))
        .where(s.owner == bindparam("owner"), m.id == bindparam("id"), m.body.is_not(None))
    )


def own_segments(t: Tables) -> Any:
    """Return the query of a session's segments from a number on, each with what it follows."""
    g = t.segment.c
    return (
        select(g.number, g.parent)
        .where(
            g.tree == bindparam("tree"),
            g.home == bindparam("home"),
            g.number >= bindparam("first"),
        )
        .order_by(g.number)
        .limit(bindparam("most"))
    )


class SqlLookupStatements(LookupStatements[Tx]):
    """Statements that every subject needs."""

    def find_owner(self, name: str) -> int | None:
        return find_owner(self._tx, name)

    def own_number(self, name: str) -> int:
        """Return an owner's number, a new one if there was none, with its shared lock."""
        self._tx.lock_owner(name, shared=True)
        found = self.find_owner(name)
        return (
            self._tx.add("owner", name=name, trimmed=0, trimmed_change=0)
            if found is None
            else found
        )

    def find_session(self, owner: str, session: str) -> SessionRow | None:
        return _row(self._tx.row(_session, key=key_of(owner, session)))

    def lock_session(self, owner: str, session: str, touches: Touches) -> SessionRow | None:
        """Find a session; in a write its owner, tree and row are locked, in this order."""
        tx, key = self._tx, key_of(owner, session)
        tx.owner_name, tx.session_name = owner, session
        if tx.locks and touches is not Touches.NOTHING:
            tx.lock_owner(owner, shared=touches is Touches.APPENDS)
        row = self.find_session(owner, session)
        if row is not None and tx.locks and tx.kind != "sqlite":
            row = _locked(tx, key, row.tree)
        if row is not None:
            tx.know_home(row.home, row.id)
        return row

    def find_all_seen(self, session: SessionRow, ids: Sequence[str]) -> dict[str, SeenMessage]:
        tx, homes, fork = self._tx, homes_of(self._tx, session), unpack_place(session.fork)
        return {
            id: SeenMessage(pos, home, bool(is_live))
            for some in in_parts(list(dict.fromkeys(ids)))
            for id, pos, home, is_live in tx.rows(_seen, homes=homes, ids=some)
            if home == session.home or is_on_path(place_of(pos), fork, tx.lineage)
        }

    def id_at(self, session: SessionRow, pos: int) -> str | Root:
        return id_at(self._tx, session.tree, pos)
