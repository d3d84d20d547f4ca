"""Sessions in any database that SQLAlchemy 2 speaks to; needs the extra `sqlalchemy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncSqlAlchemyStore
    from ._sync.store import SqlAlchemyStore
    from .extra import Extra, NewRow

__all__ = ["AsyncSqlAlchemyStore", "Extra", "NewRow", "SqlAlchemyStore"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: the driver may not be installed, and has two halves.
        modules = {
            "AsyncSqlAlchemyStore": "._async.store",
            "SqlAlchemyStore": "._sync.store",
            "Extra": ".extra",
            "NewRow": ".extra",
        }
        if name not in modules:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from ...errors import MissingDependencyError

        try:
            module = import_module(modules[name], __name__)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("sqlalchemy", "greenlet"):
                raise
            raise MissingDependencyError(
                "SQLAlchemy is not installed: pip install 'sapwood[sqlalchemy]'", name=error.name
            ) from error
        globals()[name] = value = getattr(module, name)
        return value
