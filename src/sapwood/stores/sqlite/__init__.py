"""The embedded default: sessions in one SQLite file."""

from .store import AsyncSqliteStore, SqliteStore

__all__ = ["AsyncSqliteStore", "SqliteStore"]
