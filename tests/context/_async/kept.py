"""A provider that keeps its text in memory, and what tests of blocks ask the store."""

from __future__ import annotations

from sapwood.context import (
    AsyncStoreEntries,
    BlockConfig,
)
from sapwood.store import AsyncStore

MEMORY = BlockConfig("memory", description="Facts", max_tokens=20)


class Kept:
    """A writable provider, which can be told to fail."""

    def __init__(self, content: str | None = None) -> None:
        self.content = content
        self.fails = False

    def get(self) -> str | None:
        if self.fails:
            raise OSError("no answer")
        return self.content

    def set(self, content: str) -> None:
        if self.fails:
            raise OSError("no answer")
        self.content = content


def entries_of(store: AsyncStore) -> AsyncStoreEntries:
    return AsyncStoreEntries(store, "ada", "notes", session="chat", scope="session")
