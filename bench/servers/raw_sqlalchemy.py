"""SQLAlchemy by hand: Core, one table, on the engine that our store is given, too."""

from __future__ import annotations

from collections.abc import Sequence

from raw_side import Raw, Said, decoded
from sqlalchemy import (
    BigInteger,
    Column,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    bindparam,
    create_engine,
    insert,
    select,
)
from sqlalchemy.dialects.mysql import LONGBLOB
from sqlalchemy.ext.asyncio import create_async_engine

from sapwood.model import Message

_MESSAGE = Table(
    "raw_message",
    MetaData(),
    Column("session", String(64), primary_key=True),
    Column("depth", BigInteger, primary_key=True),
    Column("id", String(64), nullable=False),
    Column("role", String(64), nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("path_tokens", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("body", LargeBinary().with_variant(LONGBLOB(), "mysql", "mariadb"), nullable=False),
    UniqueConstraint("session", "id"),
)
_INSERT = insert(_MESSAGE)
_RANGE = (
    select(_MESSAGE.c.depth, _MESSAGE.c.id, _MESSAGE.c.role, _MESSAGE.c.tokens, _MESSAGE.c.body)
    .where(_MESSAGE.c.session == bindparam("session"))
    .where(_MESSAGE.c.depth.between(bindparam("first"), bindparam("last")))
    .order_by(_MESSAGE.c.depth)
)
_BLOCK = 500


def _row(session: str, depth: int, said: Said) -> dict[str, object]:
    return {
        "session": session,
        "depth": depth,
        "id": said.id,
        "role": said.role,
        "tokens": said.tokens,
        "path_tokens": 0,
        "created_at": 0,
        "body": said.body,
    }


class RawSqlAlchemy(Raw):
    """One insert and commit for a message."""

    sync_driver = "mariadb+pymysql"
    async_driver = "mariadb+aiomysql"

    def __init__(self, url: str) -> None:
        self._address = url.partition("://")[2]
        self._engine = create_engine(f"{self.sync_driver}://{self._address}")
        _MESSAGE.metadata.create_all(self._engine)

    def insert(self, session: str, depth: int, said: Said) -> None:
        with self._engine.begin() as connection:
            connection.execute(_INSERT, _row(session, depth, said))

    def fill(self, session: str, said: Sequence[Said]) -> None:
        rows = [_row(session, depth, it) for depth, it in enumerate(said, 1)]
        for begin in range(0, len(rows), _BLOCK):
            with self._engine.begin() as connection:
                connection.execute(_INSERT, rows[begin : begin + _BLOCK])

    def range(self, session: str, first: int, last: int) -> list[Message]:
        with self._engine.connect() as connection:
            given = {"session": session, "first": first, "last": last}
            found = connection.execute(_RANGE, given).all()
        return [decoded(session, *row) for row in found]

    def close(self) -> None:
        self._engine.dispose()

    async def open_pool(self, size: int) -> None:
        self._pool = create_async_engine(
            f"{self.async_driver}://{self._address}", pool_size=size, max_overflow=0
        )

    async def insert_async(self, session: str, depth: int, said: Said) -> None:
        async with self._pool.begin() as connection:
            await connection.execute(_INSERT, _row(session, depth, said))

    async def close_pool(self) -> None:
        await self._pool.dispose()


class RawSqlAlchemyOnPostgres(RawSqlAlchemy):
    """The same on PostgreSQL."""

    sync_driver = async_driver = "postgresql+psycopg"
