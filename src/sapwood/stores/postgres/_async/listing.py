"""Statements about pages of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model import SessionQuery
from ...relational._async.listing import AsyncListingStatements
from ...relational.filters import Lane, LookUp, filters
from ...relational.rows import Row
from ..rows import RECORD_COLUMNS, RECORD_TABLES
from .tx import AsyncTx

_SECONDS = {"active": "s.active_s", "updated": "s.updated_s", "created": "0::bigint"}
_LIST = (
    " s.number, (SELECT o.name FROM {s}.owner o WHERE o.number = s.owner),"
    f" {RECORD_COLUMNS} FROM {RECORD_TABLES} WHERE true"
)
_NEXT_KIND = "SELECT min(kind) FROM {s}.session WHERE kind > %s"


class AsyncPostgresListingStatements(AsyncListingStatements[AsyncTx]):
    """Statements about pages of sessions."""

    async def page(
        self,
        lane: Lane,
        query: SessionQuery,
        after: tuple[int, int] | None,
        most: int,
        among: Sequence[int] | None,
    ) -> list[Row]:
        second, way = _SECONDS[query.order], "" if query.reverse else " DESC"
        places = ["s.number"] if query.order == "created" else [second, "s.number"]
        conditions, args = _conditions(lane, query)
        if after is not None:
            sign, marks = ">" if query.reverse else "<", ", ".join(["%s"] * len(places))
            conditions += f" AND ({', '.join(places)}) {sign} ({marks})"
            args += after[-len(places) :]
        if among is not None:
            conditions += " AND s.number = ANY (%s)"
            args.append(list(among))
            # Not in the order of an index, so that the numbers are looked up.
            places = [f"{it} + 0" for it in places]
        order = f" ORDER BY {', '.join(it + way for it in places)} LIMIT %s"
        return await self._tx.rows(f"SELECT {second},{_LIST}{conditions}{order}", (*args, most))

    async def numbers(self, by: LookUp, most: int) -> list[int]:
        text = by.text + "".join(f"{it.text}%s" for it in by.filters)
        values = [it.value for it in by.filters]
        rows = await self._tx.rows(f"{text} LIMIT %s", (*values, most))
        return [number for (number,) in rows]

    async def next_kind(self, owner: int | None, after: str) -> str | None:
        of_owner, args = ("", ()) if owner is None else (" AND owner = %s", (owner,))
        found: str | None = await self._tx.value(f"{_NEXT_KIND}{of_owner}", (after, *args))
        return found

    async def next_state(self, kind: str, after: str) -> str | None:
        text = "SELECT min(state) FROM {s}.session WHERE kind = %s AND state > %s"
        found: str | None = await self._tx.value(text, (kind, after))
        return found


def _conditions(lane: Lane, query: SessionQuery) -> tuple[str, list[Any]]:
    """Return the conditions of a query; every text is a constant, every value an argument."""
    of_lane = zip(Lane._fields, lane, strict=True)
    found: list[tuple[str, tuple[Any, ...]]] = [
        (f" AND s.{column} = %s", (value,)) for column, value in of_lane if value is not None
    ]
    found += [(f"{it.text}%s", (it.value,)) for it in filters(lane, query)]
    if query.title_prefix is not None:
        prefix = query.title_prefix.encode()
        found.append((" AND substr(p.title, 1, %s) = %s", (len(prefix), prefix)))
    if query.tags:
        found.append((" AND p.tags @> %s::text[]", (list(query.tags),)))
    return "".join(text for text, _ in found), [value for _, values in found for value in values]
