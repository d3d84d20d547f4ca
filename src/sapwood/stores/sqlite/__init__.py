"""The embedded default: sessions in one SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .store import SqliteStore

if TYPE_CHECKING:
    from .async_store import AsyncSqliteStore

__all__ = ["AsyncSqliteStore", "SqliteStore"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ...lazy_names import lazy_names

    # A program without a loop does not pay for it.
    __getattr__ = lazy_names(__name__, {"AsyncSqliteStore": ".async_store"})
