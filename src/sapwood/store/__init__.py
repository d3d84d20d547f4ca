"""The contract that every store keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._sync.admin import StoreAdmin
from ._sync.contract import Store
from .capability import Capability

if TYPE_CHECKING:
    from ._async.admin import AsyncStoreAdmin
    from ._async.contract import AsyncStore

__all__ = ["AsyncStore", "AsyncStoreAdmin", "Capability", "Store", "StoreAdmin"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: a program without a loop does not pay for it.
        if name in ("AsyncStore", "AsyncStoreAdmin"):
            from importlib import import_module

            value = getattr(import_module("._async.contract", __name__), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
