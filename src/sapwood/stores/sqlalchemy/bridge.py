"""Carrying work to an engine's connections. The work itself is written once, synchronously.

`AsyncBridge` is for the async twin and `Bridge` for the sync one; they have the same methods. An
async engine's connection runs synchronous work itself and awaits its driver underneath.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine
from sqlalchemy.engine import Connection, Engine

from ...errors import UsageError
from ..base._sync.unit import Unit
from ..base.sync_work import sync_work
from .drivers import help_driver

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine
else:
    AsyncEngine = Any

__all__ = ["AsyncBridge", "AsyncEngine", "Bridge", "Engine"]

T = TypeVar("T")


class AsyncBridge:
    """Runs work on an async engine."""

    drivers = {
        "mariadb": "aiomysql",
        "mysql": "aiomysql",
        "postgresql": "psycopg",
        "sqlite": "aiosqlite",
    }

    @staticmethod
    def create(url: Any, **options: Any) -> AsyncEngine:
        """Make an engine."""
        from sqlalchemy.ext.asyncio import create_async_engine

        return create_async_engine(url, **options)

    @staticmethod
    def core_of(engine: AsyncEngine) -> Engine:
        """Return the engine under an async one; refuse one that is not async."""
        found = getattr(engine, "sync_engine", None)
        if not isinstance(found, Engine):
            raise UsageError("give an AsyncEngine, of create_async_engine()", path="engine")
        help_driver(found)
        return found

    @staticmethod
    async def run(engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
        """Run work on a connection; what it did not commit is rolled back."""
        async with engine.connect() as conn:
            return await conn.run_sync(work)

    sync_work = staticmethod(sync_work)

    @staticmethod
    async def pause(seconds: float) -> None:
        """Wait."""
        import asyncio

        await asyncio.sleep(seconds)


class Bridge:
    """Runs work on an engine."""

    drivers = {
        "mariadb": "pymysql",
        "mysql": "pymysql",
        "postgresql": "psycopg",
        "sqlite": "pysqlite",
    }

    create = staticmethod(create_engine)
    pause = staticmethod(time.sleep)

    @staticmethod
    def core_of(engine: Engine) -> Engine:
        """Return the engine; refuse what is none, or needs an event loop."""
        if not isinstance(engine, Engine) or engine.dialect.is_async:
            raise UsageError("give an Engine, of create_engine()", path="engine")
        return engine

    @staticmethod
    def run(engine: Engine, work: Callable[[Connection], T]) -> T:
        """Run work on a connection; what it did not commit is rolled back."""
        with engine.connect() as conn:
            return work(conn)

    @staticmethod
    def sync_work(work: Callable[[Unit], T]) -> Callable[[Unit], T]:
        """Return work of the facade as it is: it is for a unit that answers at once."""
        return work
