"""Event loops in threads of their own, and the stores that are used on them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self

import pytest
from opensearchpy import AsyncOpenSearch
from psycopg_pool import AsyncConnectionPool
from pymongo import AsyncMongoClient
from redis.asyncio import Redis
from servers import mariadb, mongodb, opensearch, postgres, redis, redis_cluster
from servers.sql import Postgres
from servers.url import with_parameters
from servers.urls import SERVERS, emptied
from sqlalchemy.ext.asyncio import create_async_engine

import sapwood
from sapwood.store import AsyncStore
from sapwood.stores.mongodb import AsyncMongoStore
from sapwood.stores.opensearch import AsyncOpenSearchStore
from sapwood.stores.postgres import AsyncPostgresStore
from sapwood.stores.redis import AsyncRedisStore
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore

from .support import new_id

PATIENCE_S = 30
EMBEDDED = ("memory", "sqlite", "sqlalchemy_sqlite")
STORES = (*EMBEDDED, *SERVERS, "redis_cluster", "sqlalchemy_postgres", "attached")


def open_on(name: str, folder: Path, request: pytest.FixtureRequest) -> AsyncStore:
    """Open an empty store of a kind, where no loop is running."""
    search = None
    if name == "attached":
        address = request.getfixturevalue("opensearch_url")
        opensearch.empty()
        search = with_parameters(address, prefix=opensearch.prefix())
    return sapwood.open_async(_url(name, folder, request), search=search).store


def _url(name: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if name == "memory":
        return "memory://"
    if name in ("sqlite", "attached"):
        return f"sqlite:///{folder}/s.db"
    if name == "sqlalchemy_sqlite":
        return f"sqlalchemy+sqlite:///{folder}/s.db"
    if name == "sqlalchemy_postgres":
        request.getfixturevalue("postgres_url")
        return Postgres().url()
    if name == "redis_cluster":
        address = request.getfixturevalue("redis_cluster_url")
        redis_cluster.empty()
        return with_parameters(address, prefix=redis_cluster.prefix())
    return emptied(name, request)


async def given(name: str, address: str) -> tuple[AsyncStore, Any]:
    """Make a client of one's own, and open a store on it; give what closes the client, too."""
    if name == "redis":
        client: Any = Redis.from_url(address)
        return AsyncRedisStore(client=client, prefix=redis.prefix(), new_id=new_id), client.aclose
    if name == "postgres":
        client = AsyncConnectionPool(address, open=False)
        await client.open()
        store = AsyncPostgresStore(pool=client, schema=postgres.schema(), new_id=new_id)
        return store, client.close
    if name == "mongodb":
        client = AsyncMongoClient(address)
        database = mongodb.database()
        return AsyncMongoStore(client=client, database=database, new_id=new_id), client.aclose
    if name == "opensearch":
        client = AsyncOpenSearch(**opensearch.options_of(address))
        prefix = opensearch.prefix()
        return AsyncOpenSearchStore(client=client, prefix=prefix, new_id=new_id), client.close
    client = create_async_engine(address.replace("mariadb://", "mariadb+aiomysql://"))
    prefix = mariadb.prefix()
    return AsyncSqlAlchemyStore(client, prefix=prefix, new_id=new_id), client.dispose


class Loop:
    """An event loop in a thread, which runs until it is left; what hangs on it is an error."""

    def __init__(self) -> None:
        self._began = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._stay()), daemon=True)

    async def _stay(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = asyncio.Event()
        self._began.set()
        await self._left.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._began.wait(PATIENCE_S)
        return self

    def __exit__(self, *details: object) -> None:
        self._loop.call_soon_threadsafe(self._left.set)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the loop does not end"

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something on the loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def block(self, until: threading.Event) -> None:
        """Let nothing else run on the loop until something happened; come back once that is so."""
        is_blocked = threading.Event()

        def wait() -> None:
            is_blocked.set()
            until.wait(PATIENCE_S)

        self._loop.call_soon_threadsafe(wait)
        assert is_blocked.wait(PATIENCE_S)
