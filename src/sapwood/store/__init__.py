"""The contract that every store keeps."""

from ._async.contract import AsyncStore, AsyncStoreAdmin
from ._sync.contract import Store, StoreAdmin
from .capability import Capability

__all__ = ["AsyncStore", "AsyncStoreAdmin", "Capability", "Store", "StoreAdmin"]
