"""Which session is meant, whose homes its path leads through, and which messages it sees."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...errors import StoreCorruptError
from ...model import ROOT, Root
from ...rules.tree import is_on_path
from ..relational._sync.lookup import LookupStatements
from ..relational.position import public, unpack_place
from ..relational.rows import SeenMessage, SessionRow, Touches
from .connection import Connection

SESSION_COLUMNS = (
    "s.number, s.owner, s.id, s.home, s.tree, s.tip, s.fork, s.context, s.messages, s.overlays,"
    " s.version, s.created_at, s.active_at, s.active_s, 0, 0, s.edited, s.closed,"
    " s.has_data, s.kind"
)
HOMES_ABOVE = (
    "WITH RECURSIVE up (home) AS (SELECT above FROM descent WHERE home = ?1"
    " UNION ALL SELECT d.above FROM up JOIN descent d ON d.home = up.home)"
)
"""Names the homes above the home ?1 `up`, the nearest first."""
HOMES_BELOW = (
    "WITH RECURSIVE down (home) AS (SELECT home FROM descent WHERE above = ?1"
    " UNION ALL SELECT d.home FROM down JOIN descent d ON d.above = down.home)"
)
"""Names the homes below the home ?1 `down`."""
FEW_IDS = 8

_FIND_SESSION = (
    f"SELECT {SESSION_COLUMNS} FROM owner o JOIN standing s ON s.owner = o.number"
    " WHERE o.name = ? AND s.id = ?"
)
_FIND_ALL_OWN = (
    "SELECT m.id, m.pos, m.home, m.body IS NOT NULL FROM json_each(?1) j"
    " CROSS JOIN message m ON m.home = ?2 AND m.id = j.value"
)
_FIND_SEEN = "SELECT pos, home, body IS NOT NULL FROM message WHERE home = ? AND id = ?"
_FIND_ABOVE = (
    f"{HOMES_ABOVE} SELECT m.pos, m.home, m.body IS NOT NULL FROM up"
    " CROSS JOIN message m ON m.home = up.home AND m.id = ?2"
)


def homes_above(tx: Connection, home: int) -> list[int]:
    """Return the homes on the path to a fork point, and maybe more."""
    return [above for (above,) in tx.rows(f"{HOMES_ABOVE} SELECT home FROM up", (home,))]


def add_descent(tx: Connection, home: int, pos: int) -> None:
    """Let a home stand on that of a message."""
    tx.run("INSERT INTO descent SELECT ?, home FROM message WHERE pos = ?", (home, pos))


def leave_descent(tx: Connection, home: int) -> None:
    """Remove a retired home's link, and then those that only it led through."""
    gone: int | None = home
    while gone is not None:
        gone = tx.value(
            "DELETE FROM descent WHERE home = ?1"
            " AND NOT EXISTS (SELECT 1 FROM descent WHERE above = ?1)"
            " AND (?1 = ?2 OR NOT EXISTS (SELECT 1 FROM session WHERE home = ?1))"
            " RETURNING above",
            (gone, home),
        )


def find_owner(tx: Connection, name: str) -> int | None:
    """Find an owner's number."""
    found: int | None = tx.value("SELECT number FROM owner WHERE name = ?", (name,))
    return found


def own_number(tx: Connection, name: str) -> int:
    """Return an owner's number, a new one if there was none."""
    insert = "INSERT INTO owner (name) VALUES (?) RETURNING number"
    number: int = find_owner(tx, name) or tx.value(insert, (name,))
    return number


def missing_message(pos: int) -> StoreCorruptError:
    """Return the error for a position that something stands on, and that has no row at all."""
    at = public(pos)
    return StoreCorruptError(
        f"the message at position {at.segment}.{at.depth} is missing from the database: "
        "it can only come back from a backup"
    )


def find_seen(tx: Connection, session: SessionRow, id: str) -> SeenMessage | None:
    """Find a message that a session sees: its own, or on the path to its fork point."""
    row = tx.row(_FIND_SEEN, (session.home, id))
    if row is not None:
        return SeenMessage._make(row)
    if not session.fork:
        return None
    fork = unpack_place(session.fork)
    for row in tx.rows(_FIND_ABOVE, (session.home, id)):
        place = unpack_place(row[0])
        if place and is_on_path(place, fork, tx.lineage):
            return SeenMessage._make(row)
    return None


def id_at(tx: Connection, pos: int) -> str | Root:
    """Return the id of the message at a position."""
    if not pos:
        return ROOT
    found: str | None = tx.value("SELECT id FROM message WHERE pos = ?", (pos,))
    if found is None:
        raise missing_message(pos)
    return found


def is_seen(tx: Connection, session: SessionRow, pos: int, home: int) -> bool:
    """Whether a session sees the message at a position."""
    if home == session.home:
        return True
    place, fork = unpack_place(pos), unpack_place(session.fork)
    return place is not None and is_on_path(place, fork, tx.lineage)


class SqliteLookupStatements(LookupStatements[Connection]):
    """Statements that every subject needs. There is one writer at a time: nothing is locked."""

    def find_owner(self, name: str) -> int | None:
        return find_owner(self._tx, name)

    def own_number(self, name: str) -> int:
        return own_number(self._tx, name)

    def find_session(self, owner: str, session: str) -> SessionRow | None:
        row = self._tx.row(_FIND_SESSION, (owner, session))
        if row is None:
            return None
        found = SessionRow._make(row)
        if found.id != session:
            raise StoreCorruptError(
                f"session {session!r} is found as {found.id!r}: repair the database"
            )
        return found

    def lock_session(self, owner: str, session: str, touches: Touches) -> SessionRow | None:
        return self.find_session(owner, session)

    def find_all_seen(self, session: SessionRow, ids: Sequence[str]) -> dict[str, SeenMessage]:
        if len(ids) > FEW_IDS and not session.fork:
            args = (msgspec.json.encode(ids).decode(), session.home)
            rows = self._tx.rows(_FIND_ALL_OWN, args)
            return {id: SeenMessage(pos, home, bool(is_live)) for id, pos, home, is_live in rows}
        found = ((id, find_seen(self._tx, session, id)) for id in ids)
        return {id: seen for id, seen in found if seen is not None}

    def id_at(self, session: SessionRow, pos: int) -> str | Root:
        return id_at(self._tx, pos)
