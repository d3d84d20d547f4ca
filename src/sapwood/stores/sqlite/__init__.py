"""The embedded default: sessions in one SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .store import SqliteStore

if TYPE_CHECKING:
    from .async_store import AsyncSqliteStore

__all__ = ["AsyncSqliteStore", "SqliteStore"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: a program without a loop does not pay for it.
        if name == "AsyncSqliteStore":
            from .async_store import AsyncSqliteStore

            globals()[name] = AsyncSqliteStore
            return AsyncSqliteStore
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
