"""The databases that the SQLAlchemy store is tried on, each emptied before a test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from . import mariadb, postgres


class Database:
    """Tables under a prefix of this process's own."""

    def __init__(self) -> None:
        self.empty()

    def url(self) -> str:
        raise NotImplementedError

    def empty(self) -> None:
        """Empty the tables; they stay, so that each test begins at once."""

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""

    def open(self, kind: Callable[..., Any], **options: Any) -> Any:
        return kind.from_url(self.url(), **options)  # type: ignore[attr-defined]


class MariaDb(Database):
    def url(self) -> str:
        return f"{mariadb.shared_url()}?prefix={mariadb.prefix()}"

    def empty(self) -> None:
        mariadb.empty()


class Postgres(Database):
    def url(self) -> str:
        return f"sqlalchemy+{postgres.shared_url()}?prefix={mariadb.prefix()}"

    def empty(self) -> None:
        name = mariadb.prefix()
        pattern = name.replace("_", r"\_")
        with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
            tables = raw.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
                " AND tablename LIKE %s AND tablename <> %s",
                (f"{pattern}%", f"{name}migration"),
            ).fetchall()
            raw.execute("; ".join(f"DELETE FROM {table}" for (table,) in tables).encode())


class Sqlite(Database):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sapwood-sql-"))

    def url(self) -> str:
        return f"sqlalchemy+sqlite:///{self.folder}/s.db?prefix=sw_"

    def discard(self) -> None:
        shutil.rmtree(self.folder)
