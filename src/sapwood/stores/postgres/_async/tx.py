"""A connection for the time of one unit of work: the few ways in which statements are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from ..migration import in_schema

Args = Sequence[Any] | Mapping[str, Any]


class Texts:
    """The statements, with the schema's name put in; each is made once."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self._made: dict[str, bytes] = {}

    def __getitem__(self, text: str) -> bytes:
        made = self._made.get(text)
        if made is None:
            made = self._made[text] = in_schema(text, self.schema)
        return made


class AsyncTx:
    """A connection in use by one caller. With `locks`, a session that is looked up is locked.

    What is called often is prepared on the server where the connection allows that.
    """

    def __init__(
        self,
        raw: AsyncConnection[Any],
        texts: Texts,
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

    async def rows(self, text: str, args: Args = ()) -> list[Any]:
        """Run a statement and give all its rows."""
        await self.cursor.execute(self._texts[text], args, prepare=False)
        return await self.cursor.fetchall()

    async def row(self, text: str, args: Args = ()) -> Any:
        """Run a statement and give its first row, or None."""
        await self.cursor.execute(self._texts[text], args, prepare=False)
        return await self.cursor.fetchone()

    async def call(self, text: str, args: Args = ()) -> list[Any]:
        """Run a statement that is run often, and give all its rows."""
        await self.cursor.execute(self._texts[text], args, prepare=self._prepares)
        return await self.cursor.fetchall()

    async def value(self, text: str, args: Args = ()) -> Any:
        """Run a statement and give the first column of its first row, or None."""
        found = await self.row(text, args)
        return None if found is None else found[0]

    async def run(self, text: str, args: Args = ()) -> int:
        """Run a statement; give how many rows it touched."""
        await self.cursor.execute(self._texts[text], args, prepare=False)
        return self.cursor.rowcount

    async def now(self) -> int:
        """Tell the time of this unit of work: the server's, or that of a clock that was given."""
        if self._now is None:
            if self.clock is not None:
                self._now = self.clock()
            else:
                self._now = await self.value("SELECT {s}.now_us()")
        assert self._now is not None
        return self._now
