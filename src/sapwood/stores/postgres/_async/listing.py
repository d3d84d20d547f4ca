"""Listing sessions: a page at a time, each page a seek."""

from __future__ import annotations

from collections.abc import Callable

from ....calling import AsyncAnswer
from ....model import SessionPage, SessionQuery, SessionRecord
from ..filters import conditions
from ..rows import CONTEXT_IN_RECORD, RECORD_COLUMNS, RECORD_TABLES, record_of
from .lookup import find_owner
from .tx import AsyncTx

_SELECT = f"SELECT s.active_s, s.number, {RECORD_COLUMNS} FROM {RECORD_TABLES} WHERE s.owner = %s"
_ORDERS = {
    "active": " ORDER BY s.active_s DESC, s.number DESC LIMIT %s",
    "created": " ORDER BY s.number DESC LIMIT %s",
}


async def list_page(
    tx: AsyncTx,
    owner: str,
    query: SessionQuery,
    get: Callable[[str, str], AsyncAnswer[SessionRecord]],
) -> SessionPage:
    """Give a page, and the cursor after its last session."""
    texts, args = conditions(query)
    text = _SELECT + "".join(texts) + _ORDERS[query.order]
    rows = await tx.rows(text, (await find_owner(tx, owner), *args, query.limit + 1))
    page, has_next = rows[: query.limit], len(rows) > query.limit
    cursor = f"{page[-1][0]}.{page[-1][1]}" if has_next else None
    records: list[SessionRecord] = []
    for _, _, *row in page:
        context = row[CONTEXT_IN_RECORD]
        is_known = context is not None
        record = record_of(tuple(row), context) if is_known else await get(owner, row[0])
        records.append(record)
    return SessionPage(sessions=records, cursor=cursor)
