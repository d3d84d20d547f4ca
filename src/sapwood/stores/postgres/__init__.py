"""Sessions in PostgreSQL; needs the extra `postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncPostgresStore
    from ._sync.store import PostgresStore

__all__ = ["AsyncPostgresStore", "PostgresStore"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: the driver may not be installed, and has two halves.
        folders = {"AsyncPostgresStore": "_async", "PostgresStore": "_sync"}
        if name not in folders:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from ...errors import MissingDependencyError

        try:
            module = import_module(f".{folders[name]}.store", __name__)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in (
                "psycopg",
                "psycopg_pool",
            ):
                raise
            raise MissingDependencyError(
                "PostgreSQL needs its driver: pip install 'sapwood[postgres]'", name=error.name
            ) from error
        globals()[name] = value = getattr(module, name)
        return value
