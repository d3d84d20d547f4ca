"""Statements about usage."""

from __future__ import annotations

from ....model import Usage
from ...relational._async.usage import AsyncUsageStatements, figures_of
from ...relational.rows import Row, SessionRow
from .tx import AsyncTx

_FIGURES = (
    "model, message, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_micros"
)
_SUMS = (
    "u.model, count(*), sum(u.input_tokens)::bigint, sum(u.output_tokens)::bigint,"
    " sum(u.cached_tokens)::bigint, sum(u.reasoning_tokens)::bigint, sum(u.cost_micros)::bigint"
)
_MINE = "WHERE u.tree = %s AND u.session = %s"
_FIND = f"SELECT {_FIGURES} FROM {{s}}.usage u {_MINE} AND u.id = %s"
_ADD = (
    f"INSERT INTO {{s}}.usage (tree, session, id, {_FIGURES})"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_BY_MODEL = (
    f"SELECT {_SUMS}, NULL::text FROM {{s}}.usage u {_MINE} GROUP BY u.model ORDER BY u.model"
)
_BY_MESSAGE = (
    f"SELECT {_SUMS}, u.message FROM {{s}}.usage u {_MINE}"
    " GROUP BY u.message, u.model ORDER BY min(u.number)"
)
_OF_OWNER = (
    f"SELECT {_SUMS}, NULL::text FROM {{s}}.owner o JOIN {{s}}.session s ON s.owner = o.number"
    " JOIN {s}.usage u ON u.tree = s.tree AND u.session = s.number"
    " WHERE o.name = %s GROUP BY u.model ORDER BY u.model"
)


class AsyncPostgresUsageStatements(AsyncUsageStatements[AsyncTx]):
    """Statements about usage."""

    async def find(self, session: SessionRow, id: str) -> Row | None:
        found: Row | None = await self._tx.row(_FIND, (session.tree, session.number, id))
        return found

    async def add(self, session: SessionRow, usage: Usage) -> None:
        place = (session.tree, session.number, usage.id)
        await self._tx.run(_ADD, (*place, *figures_of(usage)))

    async def of_session(self, session: SessionRow, *, by_message: bool) -> list[Row]:
        text = _BY_MESSAGE if by_message else _BY_MODEL
        return await self._tx.rows(text, (session.tree, session.number))

    async def of_owner(self, owner: str) -> list[Row]:
        return await self._tx.rows(_OF_OWNER, (owner,))
