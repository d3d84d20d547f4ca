"""Bringing the schema up to date: one process at a time, in one transaction."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from ....errors import MigrationNeededError, StoreError
from ..migration import Step, in_schema, packaged_steps, quoted, statements, steps_after

_RECORDS = """
CREATE TABLE {s}.migration (
    version     integer PRIMARY KEY,
    name        text NOT NULL,
    checksum    text NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
_FIND = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'migration'"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('sapwood migration', 0))"


class AsyncMigrator:
    """Looks at the schema of a database, and brings it up to date."""

    def __init__(self, raw: AsyncConnection[Any], schema: str, partitions: int) -> None:
        self._raw = raw
        self._schema = schema
        self._partitions = partitions
        self._where = f"schema {schema!r}"

    async def make_ready(self, *, may_migrate: bool) -> None:
        """Refuse a database that cannot be used, and bring one that can up to date."""
        await self._refuse_settings()
        if not await self._steps_left():
            return
        if not may_migrate:
            raise MigrationNeededError(
                f"{self._where} is not there or is older than this sapwood: call admin.migrate()"
            )
        await self.migrate()

    async def migrate(self) -> int:
        """Take the steps that are left; return the version that was reached."""
        if await self._steps_left():
            await self._raw.execute("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE")
            await self._raw.execute(_LOCK)
            # Another process may have been first while this one waited for the lock.
            for step in await self._steps_left():
                await self._take(step)
            await self._raw.execute("COMMIT")
        return packaged_steps()[-1].version

    async def _take(self, step: Step) -> None:
        if step.version == 1:
            await self._raw.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(self._schema)}".encode())
            await self._raw.execute(in_schema(_RECORDS, self._schema))
        await self._raw.execute(statements(step, self._schema, self._partitions))
        await self._raw.execute(
            in_schema(
                "INSERT INTO {s}.migration (version, name, checksum) VALUES (%s, %s, %s)",
                self._schema,
            ),
            (step.version, step.name, step.checksum),
        )

    async def _steps_left(self) -> list[Step]:
        cursor = self._raw.cursor(row_factory=tuple_row)
        # Read from the catalogue: the quicker to_regclass may not see yet what another made.
        await cursor.execute(_FIND, (self._schema,))
        recorded: list[tuple[Any, ...]] = []
        if await cursor.fetchone() is not None:
            sql = in_schema("SELECT version, checksum FROM {s}.migration", self._schema)
            await cursor.execute(sql)
            recorded = await cursor.fetchall()
        return steps_after(dict(recorded), self._where)

    async def _refuse_settings(self) -> None:
        cursor = self._raw.cursor(row_factory=tuple_row)
        await cursor.execute(
            "SELECT current_setting('server_encoding'),"
            " current_setting('default_transaction_isolation'),"
            " current_setting('server_version_num')::int"
        )
        encoding, isolation, version = await cursor.fetchone() or ("", "", 0)
        if encoding != "UTF8":
            raise StoreError(f"the database's encoding is {encoding}: create it with UTF8")
        if isolation != "read committed":
            raise StoreError(
                f"default_transaction_isolation is {isolation!r}: a writer has to see what was "
                "committed while it waited, set it to 'read committed' for this user"
            )
        if version < 130000:
            raise StoreError("PostgreSQL 13 or later is needed")
