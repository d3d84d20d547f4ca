"""Sessions in MongoDB; needs the extra `mongodb`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncMongoStore
    from ._sync.store import MongoStore

__all__ = ["AsyncMongoStore", "MongoStore"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: the driver may not be installed, and has two halves.
        folders = {"AsyncMongoStore": "_async", "MongoStore": "_sync"}
        if name not in folders:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from ..base.refusals import missing_driver

        try:
            module = import_module(f".{folders[name]}.store", __name__)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("pymongo", "bson"):
                raise
            raise missing_driver("MongoDB", "mongodb", error) from error
        globals()[name] = value = getattr(module, name)
        return value
