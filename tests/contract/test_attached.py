"""A store with a search index attached finds what the contract says, in both twins."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import settings
from servers import opensearch

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.memory import AsyncMemoryStore, MemoryStore
from sapwood.stores.opensearch import AsyncOpenSearchIndex, OpenSearchIndex
from sapwood.stores.searched import AsyncSearchedStore, SearchedStore
from sapwood.testing import AsyncStoreContract, ManualClock, StoreContract, machine_for

pytestmark = pytest.mark.usefixtures("opensearch_url")


def attached(clock: ManualClock) -> Store:
    store = MemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom))
    return SearchedStore(store, OpenSearchIndex(opensearch.shared_url(), prefix=opensearch.prefix()))


def attached_async(clock: ManualClock) -> AsyncStore:
    store = AsyncMemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom))
    index = AsyncOpenSearchIndex(opensearch.shared_url(), prefix=opensearch.prefix())
    return AsyncSearchedStore(store, index)


class TestAttachedIndex(StoreContract):
    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[Store]:
        opensearch.empty()
        with attached(clock) as store:
            yield store


class TestAsyncAttachedIndex(AsyncStoreContract):
    @pytest.fixture
    async def store(self, clock: ManualClock) -> AsyncIterator[AsyncStore]:
        opensearch.empty()
        async with attached_async(clock) as store:
            yield store


class WithAnIndex:
    def __init__(self, clock: ManualClock) -> None:
        opensearch.empty()
        self._clock = clock
        self.store = MemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom))

    def open(self) -> Store | AsyncStore:
        return attached(self._clock)

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""


TestMachine = machine_for("memory with an index attached", WithAnIndex).TestCase
TestMachine.settings = settings(max_examples=6, stateful_step_count=25)
