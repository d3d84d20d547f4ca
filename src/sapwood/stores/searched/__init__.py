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
    from ...lazy_names import lazy_names

    # A program without a loop does not pay for it.
    __getattr__ = lazy_names(
        __name__,
        {"AsyncSearchIndex": "._async.index", "AsyncSearchedStore": "._async.store"},
    )
