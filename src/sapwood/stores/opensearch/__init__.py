"""Sessions in OpenSearch, and search indices in it; needs the extra `opensearch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.index import AsyncOpenSearchIndex
    from ._async.store import AsyncOpenSearchStore
    from ._sync.index import OpenSearchIndex
    from ._sync.store import OpenSearchStore

__all__ = ["AsyncOpenSearchIndex", "AsyncOpenSearchStore", "OpenSearchIndex", "OpenSearchStore"]

_MODULES = {
    "AsyncOpenSearchIndex": "_async.index",
    "AsyncOpenSearchStore": "_async.store",
    "OpenSearchIndex": "_sync.index",
    "OpenSearchStore": "_sync.store",
}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: the driver may not be installed, and has two halves.
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from ..base.refusals import missing_driver

        try:
            module = import_module(f".{_MODULES[name]}", __name__)
        except ImportError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in ("opensearchpy", "aiohttp"):
                raise
            raise missing_driver("OpenSearch", "opensearch", error) from error
        globals()[name] = value = getattr(module, name)
        return value
