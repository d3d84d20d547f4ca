"""Statements about pages of sessions."""

from __future__ import annotations

from ....model import SessionQuery
from ...relational._async.listing import AsyncListingStatements
from ...relational.rows import Row
from ..filters import conditions
from ..rows import RECORD_COLUMNS, RECORD_TABLES
from .tx import AsyncTx

_SELECT = f"SELECT s.active_s, s.number, {RECORD_COLUMNS} FROM {RECORD_TABLES} WHERE s.owner = %s"
_ORDERS = {
    "active": " ORDER BY s.active_s DESC, s.number DESC LIMIT %s",
    "created": " ORDER BY s.number DESC LIMIT %s",
}


class AsyncPostgresListingStatements(AsyncListingStatements[AsyncTx]):
    """Statements about pages of sessions."""

    async def page(
        self, owner: int, query: SessionQuery, after: tuple[int, int] | None, most: int
    ) -> list[Row]:
        texts, args = conditions(query, after)
        text = _SELECT + "".join(texts) + _ORDERS[query.order]
        return await self._tx.rows(text, (owner, *args, most))
