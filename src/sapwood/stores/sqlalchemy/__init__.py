"""Sessions in any database that SQLAlchemy 2 speaks to; needs the extra `sqlalchemy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncSqlAlchemyStore
    from ._sync.store import SqlAlchemyStore
    from .tx import Extra, NewRow

__all__ = ["AsyncSqlAlchemyStore", "Extra", "NewRow", "SqlAlchemyStore"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ...lazy_names import lazy_names

    # The driver may not be installed, and has two halves.
    __getattr__ = lazy_names(
        __name__,
        {
            "AsyncSqlAlchemyStore": "._async.store",
            "SqlAlchemyStore": "._sync.store",
            "Extra": ".tx",
            "NewRow": ".tx",
        },
        drivers=("sqlalchemy", "greenlet"),
        missing="SQLAlchemy is not installed: pip install 'sapwood[sqlalchemy]'",
    )
