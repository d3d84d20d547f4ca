"""Sessions in MongoDB; needs the extra `mongodb`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncMongoStore
    from ._sync.store import MongoStore

__all__ = ["AsyncMongoStore", "MongoStore"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ...lazy_names import lazy_names

    # The driver may not be installed, and has two halves.
    __getattr__ = lazy_names(
        __name__,
        {"AsyncMongoStore": "._async.store", "MongoStore": "._sync.store"},
        drivers=("pymongo", "bson"),
        missing="MongoDB needs its driver: pip install 'sapwood[mongodb]'",
    )
