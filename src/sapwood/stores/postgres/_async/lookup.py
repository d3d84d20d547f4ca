"""Which session is meant, and which messages it sees."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import ROOT, Root
from ...relational._async.lookup import AsyncLookupStatements
from ...relational.rows import SeenMessage, SessionRow, Touches
from ..rows import SESSION_COLUMNS
from .tx import AsyncTx

_FIND = (
    f"SELECT {SESSION_COLUMNS} FROM {{s}}.owner o JOIN {{s}}.directory d ON d.owner = o.number"
    " JOIN {s}.session s ON s.tree = d.tree AND s.number = d.number"
    " WHERE o.name = %s AND d.id = %s"
)
_LOCK = f"SELECT {SESSION_COLUMNS} FROM {{s}}.locked_session(%s, %s) s"
_SEEN = "SELECT id, pos, home, is_live FROM {s}.seen(%s, %s, %s, %s, %s::text[])"
_OWN = "SELECT number FROM {s}.owner WHERE name = %s FOR KEY SHARE"
_ADD_OWNER = "INSERT INTO {s}.owner (name) VALUES (%s) ON CONFLICT DO NOTHING"


class AsyncPostgresLookupStatements(AsyncLookupStatements[AsyncTx]):
    """Statements that every subject needs."""

    async def find_owner(self, name: str) -> int | None:
        sql = "SELECT number FROM {s}.owner WHERE name = %s"
        found: int | None = await self._tx.value(sql, (name,))
        return found

    async def own_number(self, name: str) -> int:
        """Return an owner's number, a new one if there was none; it stays until the commit."""
        found = None
        while found is None:
            found = await self._tx.value(_OWN, (name,))
            if found is None:
                await self._tx.run(_ADD_OWNER, (name,))
        assert isinstance(found, int)
        return found

    async def find_session(self, owner: str, session: str) -> SessionRow | None:
        row = await self._tx.row(_FIND, (owner, session))
        return None if row is None else SessionRow._make(row)

    async def lock_session(self, owner: str, session: str, touches: Touches) -> SessionRow | None:
        """Find a session with its tree locked, in a write; None also when it went meanwhile."""
        row = await self._tx.row(_LOCK if self._tx.locks else _FIND, (owner, session))
        return None if row is None else SessionRow._make(row)

    async def find_all_seen(
        self, session: SessionRow, ids: Sequence[str]
    ) -> dict[str, SeenMessage]:
        if not ids:
            return {}
        place = (session.tree, session.number, session.home, session.fork)
        rows = await self._tx.rows(_SEEN, (*place, list(ids)))
        return {id: SeenMessage(pos, home, is_live) for id, pos, home, is_live in rows}

    async def id_at(self, session: SessionRow, pos: int) -> str | Root:
        sql = "SELECT id FROM {s}.message WHERE tree = %s AND pos = %s"
        return (await self._tx.value(sql, (session.tree, pos)) if pos else None) or ROOT
