"""The databases that the SQLAlchemy store is tried on, each emptied before a test."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from . import mariadb, postgres
from .names import pattern_of
from .seen import note_once
from .url import with_parameters


class Database:
    """Tables under a prefix of this process's own."""

    def __init__(self) -> None:
        self.empty()

    def url(self) -> str:
        raise NotImplementedError

    def prefix(self) -> str:
        """Give what the tables' names begin with."""
        return mariadb.prefix()

    def run(self, statement: str) -> None:
        """Run a statement behind the store's back."""
        raise NotImplementedError

    def empty(self) -> None:
        """Empty the tables; they stay, so that each test begins at once."""

    def open(self, kind: Callable[..., Any], **options: Any) -> Any:
        return kind.from_url(self.url(), **options)  # type: ignore[attr-defined]


class MariaDb(Database):
    def url(self) -> str:
        return with_parameters(mariadb.shared_url() or "", prefix=mariadb.prefix())

    def run(self, statement: str) -> None:
        mariadb.rows(statement)

    def empty(self) -> None:
        mariadb.empty()


class Postgres(Database):
    def url(self) -> str:
        url = with_parameters(postgres.shared_url() or "", prefix=mariadb.prefix())
        return f"sqlalchemy+{url}"

    def run(self, statement: str) -> None:
        postgres.run(statement)

    def empty(self) -> None:
        postgres.alone()
        with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
            tables = raw.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
                r" AND tablename LIKE %s AND tablename NOT LIKE '%%\_migration'",
                (pattern_of(mariadb.prefix()),),
            ).fetchall()
            raw.execute("; ".join(f"DELETE FROM {table}" for (table,) in tables).encode())


@cache
def _file() -> Path:
    folder = tempfile.mkdtemp(prefix="sapwood-sql-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / "s.db"


class Sqlite(Database):
    def __init__(self) -> None:
        note_once(Sqlite, lambda: f"SQLite {sqlite3.sqlite_version}, through SQLAlchemy")
        super().__init__()

    def url(self) -> str:
        return f"sqlalchemy+sqlite:///{_file()}?prefix=sw_"

    def prefix(self) -> str:
        return "sw_"

    def run(self, statement: str) -> None:
        with closing(sqlite3.connect(_file())) as raw, raw:
            raw.execute(statement)

    def empty(self) -> None:
        with closing(sqlite3.connect(_file())) as raw, raw:
            tables = raw.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'sw_%'"
                " AND name NOT IN ('sw_migration', 'sw_counter')"
            ).fetchall()
            for (table,) in tables:
                raw.execute(f"DELETE FROM {table}")
            # Or new sessions would have versions above those of the test before.
            if tables:
                raw.execute("UPDATE sw_counter SET value = 0 WHERE name = 'floor'")
