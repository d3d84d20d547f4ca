"""Listing sessions: a page at a time, each page a seek."""

from __future__ import annotations

from abc import abstractmethod

from ....model import SessionQuery
from ...base.refusals import bad_listing_cursor
from ..rows import Row
from ..statements import SubjectStatements, T


class AsyncListingStatements(SubjectStatements[T]):
    """Statements about pages. A row is `active_s`, the session's number, then its record's row."""

    @abstractmethod
    async def page(
        self, owner: int, query: SessionQuery, after: tuple[int, int] | None, most: int
    ) -> list[Row]:
        """Return so many rows that a query asks for, after `(active_s, number)`, in its order."""


def parse_cursor(cursor: str) -> tuple[int, int]:
    """Return the second and the number of the last session of a page."""
    active_s, _, number = cursor.partition(".")
    is_short = max(len(active_s), len(number)) <= 18
    if not (is_short and cursor.isascii() and active_s.isdigit() and number.isdigit()):
        raise bad_listing_cursor(cursor)
    return int(active_s), int(number)
