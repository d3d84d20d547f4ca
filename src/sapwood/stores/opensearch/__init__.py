"""Sessions in OpenSearch, and search indices in it; needs the extra `opensearch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.index import AsyncOpenSearchIndex
    from ._async.store import AsyncOpenSearchStore
    from ._sync.index import OpenSearchIndex
    from ._sync.store import OpenSearchStore

__all__ = ["AsyncOpenSearchIndex", "AsyncOpenSearchStore", "OpenSearchIndex", "OpenSearchStore"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ...lazy_names import lazy_names

    # The driver may not be installed, and has two halves.
    __getattr__ = lazy_names(
        __name__,
        {
            "AsyncOpenSearchIndex": "._async.index",
            "AsyncOpenSearchStore": "._async.store",
            "OpenSearchIndex": "._sync.index",
            "OpenSearchStore": "._sync.store",
        },
        drivers=("opensearchpy", "aiohttp"),
        missing="OpenSearch needs its driver: pip install 'sapwood[opensearch]'",
    )
