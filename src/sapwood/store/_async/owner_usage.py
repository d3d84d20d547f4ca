"""An owner's usage, summed session by session: for stores that keep no sums."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import NotFoundError
from ...model import SessionQuery, UsageTotal
from ...rules.totals import add_up

if TYPE_CHECKING:
    from .contract import AsyncStore

PAGE = 500


async def sum_of_sessions(store: AsyncStore, owner: str) -> list[UsageTotal]:
    """Sum the usage of all of an owner's sessions by model, in the order of their names."""
    totals: list[UsageTotal] = []
    query = SessionQuery(kind=None, limit=PAGE)
    while True:
        page = await store.list_sessions(owner, query)
        for record in page.sessions:
            # One that was deleted since it was listed counts no more.
            with suppress(NotFoundError):
                totals += await store.total_usage(owner, record.id)
        if page.cursor is None:
            return add_up(totals)
        query = SessionQuery(kind=None, limit=PAGE, cursor=page.cursor)
