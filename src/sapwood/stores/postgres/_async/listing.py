"""Statements about pages of sessions."""

from __future__ import annotations

from typing import Any

from ....model import SessionQuery
from ...relational._async.listing import AsyncListingStatements
from ...relational.filters import filters
from ...relational.rows import Row
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
        conditions, args = _conditions(query, after)
        text = _SELECT + conditions + _ORDERS[query.order]
        return await self._tx.rows(text, (owner, *args, most))


def _conditions(query: SessionQuery, after: tuple[int, int] | None) -> tuple[str, list[Any]]:
    """Return the conditions of a query; every text is a constant, every value an argument."""
    found: list[tuple[str, tuple[Any, ...]]] = [
        (f"{it.text}%s", (it.value,)) for it in filters(query)
    ]
    if after is not None and query.order == "active":
        found.append((" AND (s.active_s, s.number) < (%s, %s)", after))
    elif after is not None:
        found.append((" AND s.number < %s", after[1:]))
    if query.title_prefix is not None:
        prefix = query.title_prefix.encode()
        found.append((" AND substr(p.title, 1, %s) = %s", (len(prefix), prefix)))
    if query.tags:
        found.append((" AND p.tags @> %s::text[]", (list(query.tags),)))
    return "".join(text for text, _ in found), [value for _, values in found for value in values]
