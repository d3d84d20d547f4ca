"""Sessions in PostgreSQL; needs the extra `postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncPostgresStore
    from ._sync.store import PostgresStore

__all__ = ["AsyncPostgresStore", "PostgresStore"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ...lazy_names import lazy_names

    # The driver may not be installed, and has two halves.
    __getattr__ = lazy_names(
        __name__,
        {"AsyncPostgresStore": "._async.store", "PostgresStore": "._sync.store"},
        drivers=("psycopg", "psycopg_pool"),
        missing="PostgreSQL needs its driver: pip install 'sapwood[postgres]'",
    )
