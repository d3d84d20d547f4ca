"""A connection for the time of one unit of work: the few ways in which statements are run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection
from psycopg.abc import Params
from psycopg.rows import tuple_row


class AsyncTx:
    """A connection in use by one caller. With `locks`, a session that is looked up is locked.

    `texts` puts the schema's name into a statement. What is called often is prepared on the server
    where the connection allows that.
    """

    def __init__(
        self,
        raw: AsyncConnection[Any],
        texts: Callable[[str], bytes],
        clock: Callable[[], int] | None,
        *,
        locks: bool = False,
        prepares: bool = False,
    ) -> None:
        self.raw = raw
        self.clock = clock
        self.locks = locks
        self.left_to_sweep = False
        self._texts = texts
        self._prepares = prepares and raw.prepare_threshold is not None
        self.cursor = raw.cursor(binary=True, row_factory=tuple_row)
        self._now: int | None = None

    async def rows(self, text: str, args: Params = (), *, often: bool = False) -> list[Any]:
        """Run a statement and return all its rows; one that is run often is prepared."""
        await self.cursor.execute(self._texts(text), args, prepare=often and self._prepares)
        return await self.cursor.fetchall()

    async def row(self, text: str, args: Params = ()) -> Any:
        """Run a statement and return its first row, or None."""
        await self.cursor.execute(self._texts(text), args, prepare=False)
        return await self.cursor.fetchone()

    async def value(self, text: str, args: Params = ()) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        found = await self.row(text, args)
        return None if found is None else found[0]

    async def run(self, text: str, args: Params = ()) -> int:
        """Run a statement; return how many rows it touched."""
        await self.cursor.execute(self._texts(text), args, prepare=False)
        return self.cursor.rowcount

    def given_time(self) -> int | None:
        """Return the time of the clock that was given; None where the server's holds."""
        return self.clock and self.clock()

    async def now(self) -> int:
        """Return the time of this unit of work: the server's, or that of a clock that was given."""
        if self._now is None:
            given = self.given_time()
            self._now = int(await self.value("SELECT {s}.now_us()") if given is None else given)
        return self._now
