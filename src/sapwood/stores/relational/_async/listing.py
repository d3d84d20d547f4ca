"""Listing sessions: a page at a time, each page a seek."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....calls import AsyncAnswer
from ....model import SessionPage, SessionQuery, SessionRecord
from ...base.refusals import bad_listing_cursor
from ..rows import CONTEXT_IN_RECORD, Row
from ..statements import SubjectStatements, T

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncListingStatements(SubjectStatements[T]):
    """Statements about pages. A row is `active_s`, the session's number, then its record's row."""

    @abstractmethod
    async def page(
        self, owner: int, query: SessionQuery, after: tuple[int, int] | None, most: int
    ) -> list[Row]:
        """Return so many rows that a query asks for, after `(active_s, number)`, in its order."""


async def list_page(
    dialect: AsyncDialect,
    owner: str,
    query: SessionQuery,
    get: Callable[[str, str], AsyncAnswer[SessionRecord]],
) -> SessionPage:
    """Return a page, and the cursor after its last session.

    A record whose context is to be worked out is taken from `get`.
    """
    after = None if query.cursor is None else _parse(query.cursor)
    number = await dialect.lookup.find_owner(owner)
    if number is None:
        return SessionPage(sessions=[], cursor=None)
    rows = await dialect.listing.page(number, query, after, query.limit + 1)
    page, has_next = rows[: query.limit], len(rows) > query.limit
    records: list[SessionRecord] = []
    for row in (row[2:] for row in page):
        context = row[CONTEXT_IN_RECORD]
        is_known = context is not None
        record = dialect.sessions.record_of(row, context) if is_known else await get(owner, row[0])
        records.append(record)
    return SessionPage(
        sessions=records, cursor=f"{page[-1][0]}.{page[-1][1]}" if has_next else None
    )


def _parse(cursor: str) -> tuple[int, int]:
    active_s, _, number = cursor.partition(".")
    is_short = max(len(active_s), len(number)) <= 18
    if not (is_short and cursor.isascii() and active_s.isdigit() and number.isdigit()):
        raise bad_listing_cursor(cursor)
    return int(active_s), int(number)
