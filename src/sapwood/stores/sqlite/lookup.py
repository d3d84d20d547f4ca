"""Which session is meant, and which messages it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ...errors import NotFoundError, StoreCorruptError
from ...model import ROOT, Root
from ...rules.tree import is_on_path
from .connection import Connection
from .descent import ABOVE
from .position import public, unpack_place


class SessionRow(NamedTuple):
    """The part of a session that every unit of work reads."""

    number: int
    owner: int
    id: str
    home: int
    tree: int
    tip: int
    fork: int
    context: int | None
    messages: int
    overlays: int
    edited: int
    version: int
    created_at: int
    active_at: int
    active_s: int


class Seen(NamedTuple):
    """A message as far as it matters where it stands."""

    pos: int
    home: int
    is_live: bool


SESSION_COLUMNS = (
    "s.number, s.owner, s.id, s.home, s.tree, s.tip, s.fork, s.context, s.messages, s.overlays,"
    " s.edited, s.version, s.created_at, s.active_at, s.active_s"
)
_FIND_SESSION = (
    f"SELECT {SESSION_COLUMNS} FROM owner o JOIN standing s ON s.owner = o.number"
    " WHERE o.name = ? AND s.id = ?"
)
FEW_IDS = 8
_FIND_ALL_OWN = (
    "SELECT m.id, m.pos, m.home, m.body IS NOT NULL FROM json_each(?1) j"
    " CROSS JOIN message m ON m.home = ?2 AND m.id = j.value"
)
_FIND_SEEN = "SELECT pos, home, body IS NOT NULL FROM message WHERE home = ? AND id = ?"
_FIND_ABOVE = (
    f"{ABOVE} SELECT m.pos, m.home, m.body IS NOT NULL FROM up"
    " CROSS JOIN message m ON m.home = up.home AND m.id = ?2"
)


def find_session(tx: Connection, owner: str, session: str) -> SessionRow | None:
    """Find a session of an owner."""
    row = tx.row(_FIND_SESSION, (owner, session))
    if row is None:
        return None
    found = SessionRow._make(row)
    if found.id != session:
        raise StoreCorruptError(
            f"session {session!r} is found as {found.id!r}: repair the database"
        )
    return found


def get_session(tx: Connection, owner: str, session: str) -> SessionRow:
    """Get a session of an owner, or raise."""
    found = find_session(tx, owner, session)
    if found is None:
        raise no_session(session)
    return found


def no_session(session: str) -> NotFoundError:
    """Say that a session is not there."""
    return NotFoundError(
        f"there is no session {session!r}: create it first", kind="session", id=session
    )


def no_message(session: str, id: str) -> NotFoundError:
    """Say that a session does not see a message."""
    return NotFoundError(
        f"session {session!r} has no message {id!r} on its branches", kind="message", id=id
    )


def missing_message(pos: int) -> StoreCorruptError:
    """Say that there is no row, not even a deleted message's, where something stands on it."""
    at = public(pos)
    return StoreCorruptError(
        f"the message at position {at.segment}.{at.depth} is missing from the database: "
        "it can only come back from a backup"
    )


def find_seen(tx: Connection, session: SessionRow, id: str) -> Seen | None:
    """Find a message that a session sees: its own, or on the path to its fork point."""
    row = tx.row(_FIND_SEEN, (session.home, id))
    if row is not None:
        return Seen._make(row)
    if not session.fork:
        return None
    fork = unpack_place(session.fork)
    for row in tx.rows(_FIND_ABOVE, (session.home, id)):
        place = unpack_place(row[0])
        if place and is_on_path(place, fork, tx.lineage):
            return Seen._make(row)
    return None


def find_all_seen(tx: Connection, session: SessionRow, ids: Sequence[str]) -> dict[str, Seen]:
    """Find those of the messages that a session sees."""
    if len(ids) > FEW_IDS and not session.fork:
        rows = tx.rows(_FIND_ALL_OWN, (msgspec.json.encode(ids).decode(), session.home))
        return {id: Seen(pos, home, bool(is_live)) for id, pos, home, is_live in rows}
    found = ((id, find_seen(tx, session, id)) for id in ids)
    return {id: seen for id, seen in found if seen is not None}


def get_pos(tx: Connection, session: SessionRow, message: str | Root) -> int:
    """Get the position of a message that a session sees, deleted or not, or raise."""
    if message is ROOT:
        return 0
    assert isinstance(message, str)
    seen = find_seen(tx, session, message)
    if seen is None:
        raise no_message(session.id, message)
    return seen.pos


def id_at(tx: Connection, pos: int) -> str | Root:
    """Give the id of the message at a position."""
    if not pos:
        return ROOT
    found: str | None = tx.value("SELECT id FROM message WHERE pos = ?", (pos,))
    if found is None:
        raise missing_message(pos)
    return found


def is_seen(tx: Connection, session: SessionRow, pos: int, home: int) -> bool:
    """Tell whether a session sees the message at a position."""
    if home == session.home:
        return True
    place, fork = unpack_place(pos), unpack_place(session.fork)
    return place is not None and is_on_path(place, fork, tx.lineage)
