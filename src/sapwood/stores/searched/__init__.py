"""A search index of its own, attached to any store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._sync.index import SearchIndex
from ._sync.store import SearchedStore

if TYPE_CHECKING:
    from ._async.index import AsyncSearchIndex
    from ._async.store import AsyncSearchedStore

__all__ = ["AsyncSearchIndex", "AsyncSearchedStore", "SearchIndex", "SearchedStore"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: a program without a loop does not pay for it.
        modules = {"AsyncSearchIndex": "index", "AsyncSearchedStore": "store"}
        if name not in modules:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f"._async.{modules[name]}", __name__)
        globals()[name] = value = getattr(module, name)
        return value
