"""Which session is meant, and which messages it sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....model import Root
from ...relational._async.lookup import AsyncLookupStatements
from ...relational.rows import HomeNames, SeenMessage, SessionRow, Touches
from ..rows import MESSAGE_COLUMNS, SESSION_COLUMNS, id_or_root
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


async def learn_names(tx: AsyncTx, tree: int, names: HomeNames, homes: Iterable[int]) -> None:
    """Look up the sessions behind homes that are not known yet; None for those that are gone."""
    unknown = {home for home in homes if home not in names}
    if not unknown:
        return
    names.update(dict.fromkeys(unknown))
    sql = "SELECT home, id FROM {s}.session WHERE tree = %s AND home = ANY (%s)"
    names.update(await tx.rows(sql, (tree, list(unknown))))


async def rows_at(tx: AsyncTx, tree: int, positions: Sequence[int]) -> dict[int, Any]:
    """Read the messages at positions."""
    if not positions:
        return {}
    return {row[0]: row for row in await tx.rows(_AT, (tree, list(positions)))}


class AsyncPostgresLookupStatements(AsyncLookupStatements[AsyncTx]):
    """Statements that every subject needs."""

    async def find_owner(self, name: str) -> int | None:
        return await find_owner(self._tx, name)

    async def own_number(self, name: str) -> int:
        return await own_number(self._tx, name)

    async def find_session(self, owner: str, session: str) -> SessionRow | None:
        row = await self._tx.row(_FIND, (owner, session))
        return None if row is None else SessionRow._make(row)

    async def lock_session(self, owner: str, session: str, touches: Touches) -> SessionRow | None:
        if self._tx.locks:
            return await lock_session(self._tx, owner, session)
        return await self.find_session(owner, session)

    async def find_all_seen(
        self, session: SessionRow, ids: Sequence[str]
    ) -> dict[str, SeenMessage]:
        return await find_all_seen(self._tx, session, ids)

    async def id_at(self, session: SessionRow, pos: int) -> str | Root:
        sql = "SELECT id FROM {s}.message WHERE tree = %s AND pos = %s"
        return id_or_root(await self._tx.value(sql, (session.tree, pos)) if pos else None)
