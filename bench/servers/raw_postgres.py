"""PostgreSQL by hand: psycopg, one table."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg_pool import AsyncConnectionPool
from raw_side import Raw, Said, decoded

from sapwood.model import Message

_TABLE = """
CREATE TABLE IF NOT EXISTS raw_message (
    session text COLLATE "C", depth bigint, id text COLLATE "C" NOT NULL, role text NOT NULL,
    tokens bigint NOT NULL, path_tokens bigint NOT NULL, created_at bigint NOT NULL,
    body bytea NOT NULL, PRIMARY KEY (session, depth), UNIQUE (session, id)
)"""
_INSERT = "INSERT INTO raw_message VALUES (%s, %s, %s, %s, %s, 0, 0, %s)"
_RANGE = (
    "SELECT depth, id, role, tokens, body FROM raw_message"
    " WHERE session = %s AND depth BETWEEN %s AND %s ORDER BY depth"
)


def _row(session: str, depth: int, said: Said) -> tuple[object, ...]:
    return session, depth, said.id, said.role, said.tokens, said.body


class RawPostgres(Raw):
    """An insert and a commit, as the driver does them; reads are statements by themselves."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(_TABLE)
        # As our store reads: a body is bytes, and not a text of hexadecimal digits.
        self._cursor = self._connection.cursor(binary=True)
        self._committing = psycopg.connect(url)

    def insert(self, session: str, depth: int, said: Said) -> None:
        self._committing.execute(_INSERT, _row(session, depth, said), prepare=True)
        self._committing.commit()

    def strict_insert(self, session: str, depth: int, said: Said) -> None:
        self._cursor.execute(_INSERT, _row(session, depth, said), prepare=True)

    def fill(self, session: str, said: Sequence[Said]) -> None:
        with self._connection.cursor() as cursor, cursor.copy("COPY raw_message FROM STDIN") as to:
            for depth, it in enumerate(said, 1):
                to.write_row((session, depth, it.id, it.role, it.tokens, 0, 0, it.body))

    def range(self, session: str, first: int, last: int) -> list[Message]:
        found = self._cursor.execute(_RANGE, (session, first, last), prepare=True).fetchall()
        return [decoded(session, *row) for row in found]

    def close(self) -> None:
        self._connection.close()
        self._committing.close()

    async def open_pool(self, size: int) -> None:
        options = {"prepare_threshold": 0}
        self._pool = AsyncConnectionPool(
            self._url, min_size=size, max_size=size, kwargs=options, open=False
        )
        await self._pool.open(wait=True)

    async def insert_async(self, session: str, depth: int, said: Said) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(_INSERT, _row(session, depth, said))

    async def close_pool(self) -> None:
        await self._pool.close()
