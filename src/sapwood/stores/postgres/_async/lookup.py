"""Which session is meant, and which messages it sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....model import ROOT, Message, Root
from ...base.refusals import no_message, no_session
from ...relational._async.lookup import AsyncLookupStatements
from ...relational.rows import HomeNames, SeenMessage, SessionRow, Touches
from ..rows import MESSAGE_COLUMNS, SESSION_COLUMNS, id_or_root, message_of
from .tx import AsyncTx

_FIND = (
    f"SELECT {SESSION_COLUMNS} FROM {{s}}.owner o JOIN {{s}}.directory d ON d.owner = o.number"
    " JOIN {s}.session s ON s.tree = d.tree AND s.number = d.number"
    " WHERE o.name = %s AND d.id = %s"
)
_LOCK = f"SELECT {SESSION_COLUMNS} FROM {{s}}.locked_session(%s, %s) s"
_SEEN = "SELECT id, pos, home, is_live FROM {s}.seen(%s, %s, %s, %s, %s::text[])"
_AT = f"SELECT {MESSAGE_COLUMNS} FROM {{s}}.message m WHERE m.tree = %s AND m.pos = ANY (%s)"


async def find_owner(tx: AsyncTx, name: str) -> int | None:
    """Find an owner's number."""
    found: int | None = await tx.value("SELECT number FROM {s}.owner WHERE name = %s", (name,))
    return found


async def own_number(tx: AsyncTx, name: str) -> int:
    """Give an owner's number, a new one if there was none; it stays until the commit."""
    found = None
    while found is None:
        found = await tx.value(
            "SELECT number FROM {s}.owner WHERE name = %s FOR KEY SHARE", (name,)
        )
        if found is None:
            await tx.run("INSERT INTO {s}.owner (name) VALUES (%s) ON CONFLICT DO NOTHING", (name,))
    assert isinstance(found, int)
    return found


async def find_session(tx: AsyncTx, owner: str, session: str) -> SessionRow | None:
    """Find a session of an owner, without a lock."""
    row = await tx.row(_FIND, (owner, session))
    return None if row is None else SessionRow._make(row)


async def get_session(tx: AsyncTx, owner: str, session: str) -> SessionRow:
    """Get a session of an owner, locked if this is a unit that writes, or raise."""
    row = await tx.row(_LOCK if tx.locks else _FIND, (owner, session))
    if row is None:
        raise no_session(session)
    return SessionRow._make(row)


async def lock_session(tx: AsyncTx, owner: str, session: str) -> SessionRow | None:
    """Find a session of an owner with its tree locked; None also when it went meanwhile."""
    row = await tx.row(_LOCK, (owner, session))
    return None if row is None else SessionRow._make(row)


async def find_all_seen(
    tx: AsyncTx, session: SessionRow, ids: Sequence[str]
) -> dict[str, SeenMessage]:
    """Find those of the messages that a session sees."""
    if not ids:
        return {}
    rows = await tx.rows(
        _SEEN, (session.tree, session.number, session.home, session.fork, list(ids))
    )
    return {id: SeenMessage(pos, home, is_live) for id, pos, home, is_live in rows}


async def find_seen(tx: AsyncTx, session: SessionRow, id: str) -> SeenMessage | None:
    """Find a message that a session sees: its own, or on the path to its fork point."""
    return (await find_all_seen(tx, session, [id])).get(id)


async def get_pos(tx: AsyncTx, session: SessionRow, message: str | Root) -> int:
    """Get the position of a message that a session sees, deleted or not, or raise."""
    if message is ROOT:
        return 0
    assert isinstance(message, str)
    seen = await find_seen(tx, session, message)
    if seen is None:
        raise no_message(session.id, message)
    return seen.pos


async def id_at(tx: AsyncTx, tree: int, pos: int) -> str | Root:
    """Give the id of the message at a position."""
    sql = "SELECT id FROM {s}.message WHERE tree = %s AND pos = %s"
    return id_or_root(await tx.value(sql, (tree, pos)) if pos else None)


async def is_on_path(tx: AsyncTx, tree: int, pos: int, leaf: int) -> bool:
    """Tell whether a position lies on the path to a leaf."""
    found: bool = await tx.value("SELECT {s}.is_on_path(%s, %s, %s)", (tree, pos, leaf))
    return found


async def learn_names(tx: AsyncTx, tree: int, names: HomeNames, homes: Iterable[int]) -> None:
    """Look up the sessions behind homes that are not known yet; None for those that are gone."""
    unknown = {home for home in homes if home not in names}
    if not unknown:
        return
    names.update(dict.fromkeys(unknown))
    sql = "SELECT home, id FROM {s}.session WHERE tree = %s AND home = ANY (%s)"
    names.update(await tx.rows(sql, (tree, list(unknown))))


async def messages_of(tx: AsyncTx, tree: int, rows: list[Any], names: HomeNames) -> list[Message]:
    """Make messages of their rows."""
    await learn_names(tx, tree, names, (row[1] for row in rows))
    return [message_of(row, names) for row in rows]


async def rows_at(tx: AsyncTx, tree: int, positions: Sequence[int]) -> dict[int, Any]:
    """Read the messages at positions."""
    if not positions:
        return {}
    return {row[0]: row for row in await tx.rows(_AT, (tree, list(positions)))}


async def message_at(tx: AsyncTx, session: SessionRow, pos: int) -> Message:
    """Read one live message."""
    rows = await rows_at(tx, session.tree, [pos])
    names: HomeNames = {session.home: session.id}
    [message] = await messages_of(tx, session.tree, list(rows.values()), names)
    return message


class AsyncPostgresLookupStatements(AsyncLookupStatements):
    """Statements that every subject needs."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def find_owner(self, name: str) -> int | None:
        return await find_owner(self._tx, name)

    async def own_number(self, name: str) -> int:
        return await own_number(self._tx, name)

    async def find_session(self, owner: str, session: str) -> SessionRow | None:
        return await find_session(self._tx, owner, session)

    async def lock_session(self, owner: str, session: str, touches: Touches) -> SessionRow | None:
        find = lock_session if self._tx.locks else find_session
        return await find(self._tx, owner, session)

    async def find_all_seen(
        self, session: SessionRow, ids: Sequence[str]
    ) -> dict[str, SeenMessage]:
        return await find_all_seen(self._tx, session, ids)

    async def id_at(self, session: SessionRow, pos: int) -> str | Root:
        return await id_at(self._tx, session.tree, pos)
