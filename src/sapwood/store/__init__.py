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
    from ..lazy_names import lazy_names

    # A program without a loop does not pay for it.
    __getattr__ = lazy_names(
        __name__,
        {"AsyncStore": "._async.contract", "AsyncStoreAdmin": "._async.admin"},
    )
