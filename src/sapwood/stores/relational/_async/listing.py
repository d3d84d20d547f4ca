"""Pages of sessions: an owner's, or all owners'.

Sessions of one owner and kind lie in each order in an index, which is gone through until the page
is full. Where a tag, a title, a key or a state is asked for, its own index comes first: when that
finds few sessions, no others are looked at.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....calls import AsyncAnswer
from ....model import OwnedSession, OwnedSessionPage, SessionPage, SessionQuery, SessionRecord
from ..filters import Lane, LookUp, cursor_at, look_up_state, look_ups, parse_cursor
from ..rows import CONTEXT_IN_RECORD, Row
from ..statements import SubjectStatements, T

if TYPE_CHECKING:
    from .dialect import AsyncDialect

GetRecord = Callable[[str, str], AsyncAnswer[SessionRecord]]
"""Gives an owner's session whose context is not known yet."""
FEW = 1_000
"""How many sessions a look-up finds at most, before an order is gone through instead."""
BEFORE_RECORD = 3
"""What stands in a row before its record: the second of its order, its number, its owner."""


class AsyncListingStatements(SubjectStatements[T]):
    """Statements about pages.

    A row is the second that its order goes by (or 0), the session's number, the owner's name, then
    its record's row.
    """

    @abstractmethod
    async def page(
        self,
        lane: Lane,
        query: SessionQuery,
        after: tuple[int, int] | None,
        most: int,
        among: Sequence[int] | None,
    ) -> list[Row]:
        """Return so many rows of a lane, after `(second, number)`, in the order of the query.

        With `among`, of these numbers only: then they are looked up, and put in order.
        """

    @abstractmethod
    async def numbers(self, by: LookUp, most: int) -> list[int]:
        """Return the numbers of so many sessions."""

    @abstractmethod
    async def next_kind(self, owner: int | None, after: str) -> str | None:
        """Return the first kind after one that an owner, or anybody, has sessions of."""

    @abstractmethod
    async def next_state(self, kind: str, after: str) -> str | None:
        """Return the first state after one that anybody's sessions of a kind are in."""


async def list_page(
    dialect: AsyncDialect, get: GetRecord, owner: str, query: SessionQuery
) -> SessionPage:
    """List an owner's sessions: a page, and the cursor after its last one."""
    after, statements = parse_cursor(query), dialect.listing
    number, rows = await dialect.lookup.find_owner(owner), list[Row]()
    if number is None:
        return SessionPage(sessions=[], cursor=None)
    kinds = await _kinds(dialect, number, query)
    among = await _few(dialect, look_ups(number, query))
    for kind in kinds if among != [] else []:
        lane, ours = Lane(number, kind, query.state), among
        if ours is None and query.state is not None:
            ours = await _few(dialect, [look_up_state(lane)])
        if ours != []:
            rows += await statements.page(lane, query, after, query.limit + 1, ours)
    page, cursor = _cut(query, rows)
    records = [await _record(dialect, get, row) for row in page]
    return SessionPage(sessions=records, cursor=cursor)


async def list_of_all(
    dialect: AsyncDialect, get: GetRecord, query: SessionQuery
) -> OwnedSessionPage:
    """List sessions of all owners: a page, and the cursor after its last one."""
    after, statements, rows = parse_cursor(query), dialect.listing, list[Row]()
    for kind in await _kinds(dialect, None, query):
        for state in await _states(dialect, kind, query):
            lane = Lane(None, kind, state)
            rows += await statements.page(lane, query, after, query.limit + 1, None)
    page, cursor = _cut(query, rows)
    found = [OwnedSession(owner=row[2], session=await _record(dialect, get, row)) for row in page]
    return OwnedSessionPage(sessions=found, cursor=cursor)


async def _kinds(dialect: AsyncDialect, owner: int | None, query: SessionQuery) -> list[str]:
    if query.kind is not None:
        return [query.kind]
    return await _names(lambda after: dialect.listing.next_kind(owner, after))


async def _states(dialect: AsyncDialect, kind: str, query: SessionQuery) -> list[str]:
    if query.state is not None:
        return [query.state]
    return await _names(lambda after: dialect.listing.next_state(kind, after))


async def _names(next_after: Callable[[str], AsyncAnswer[str | None]]) -> list[str]:
    """Return names, each looked up by the one before."""
    found = [""]
    while (name := await next_after(found[-1])) is not None:
        found.append(name)
    return found[1:]


async def _few(dialect: AsyncDialect, by: Sequence[LookUp]) -> list[int] | None:
    """Return what the first look-up that finds few finds; None when all find many."""
    for it in by:
        numbers = await dialect.listing.numbers(it, FEW + 1)
        if len(numbers) <= FEW:
            return numbers
    return None


def _cut(query: SessionQuery, rows: list[Row]) -> tuple[list[Row], str | None]:
    """Return the page of what was found in all lanes, and the cursor after it."""
    page = sorted(rows, key=lambda row: row[:2], reverse=not query.reverse)[: query.limit]
    return page, cursor_at(query, *page[-1][:2]) if len(rows) > query.limit else None


async def _record(dialect: AsyncDialect, get: GetRecord, row: Row) -> SessionRecord:
    owner, record = row[BEFORE_RECORD - 1], row[BEFORE_RECORD:]
    context = record[CONTEXT_IN_RECORD]
    if context is None:
        return await get(owner, record[0])
    return dialect.sessions.record_of(record, context)
