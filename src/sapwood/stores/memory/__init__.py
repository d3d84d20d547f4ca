"""The memory store: for tests, and for sessions that need not outlive their process."""

from .driver import MemorySnapshot
from .store import AsyncMemoryStore, MemoryStore

__all__ = ["AsyncMemoryStore", "MemorySnapshot", "MemoryStore"]
