"""A store with a search index attached finds what the contract says, in both twins."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import pytest
from servers import opensearch

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.memory import AsyncMemoryStore, MemoryStore
from sapwood.stores.opensearch import AsyncOpenSearchIndex, OpenSearchIndex
from sapwood.stores.searched import AsyncSearchedStore, SearchedStore
from sapwood.testing import (
    AsyncDataStoreContract,
    DataStoreContract,
    ManualClock,
    machine_for,
)
from sapwood.testing._async import admin as async_admin
from sapwood.testing._async import kinds as async_kinds
from sapwood.testing._async import rewriting as async_rewriting
from sapwood.testing._async import rewriting_meanwhile as async_meanwhile
from sapwood.testing._async import search as async_search
from sapwood.testing._async import search_pages as async_pages
from sapwood.testing._async import search_query as async_query
from sapwood.testing._async import search_scope as async_scope
from sapwood.testing._sync import (
    admin,
    kinds,
    rewriting,
    rewriting_meanwhile,
    search,
    search_pages,
    search_query,
    search_scope,
)

from .places import on_a_server

pytestmark = pytest.mark.usefixtures("opensearch_url")


def attached(clock: ManualClock) -> Store:
    store = MemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom))
    return SearchedStore(
        store, OpenSearchIndex(opensearch.shared_url(), prefix=opensearch.prefix())
    )


def attached_async(clock: ManualClock) -> AsyncStore:
    store = AsyncMemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom))
    index = AsyncOpenSearchIndex(opensearch.shared_url(), prefix=opensearch.prefix())
    return AsyncSearchedStore(store, index)


@pytest.mark.full
class TestAttachedIndex(
    search.SearchContract,
    search.SummarySearchContract,
    search_scope.SearchScopeContract,
    search_scope.ForkSearchContract,
    search_scope.GoneSearchContract,
    search_scope.OwnerSearchContract,
    search_query.QueryContract,
    search_query.FilterContract,
    search_query.HitContract,
    search_pages.SearchPageContract,
    kinds.KindSearchContract,
    rewriting.RewriteContract,
    rewriting_meanwhile.RewriteMeanwhileContract,
    admin.AdminContract,
    DataStoreContract,
):
    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[Store]:
        opensearch.empty()
        with attached(clock) as store:
            yield store


class TestAsyncAttachedIndex(
    async_search.AsyncSearchContract,
    async_search.AsyncSummarySearchContract,
    async_scope.AsyncSearchScopeContract,
    async_scope.AsyncForkSearchContract,
    async_scope.AsyncGoneSearchContract,
    async_scope.AsyncOwnerSearchContract,
    async_query.AsyncQueryContract,
    async_query.AsyncFilterContract,
    async_query.AsyncHitContract,
    async_pages.AsyncSearchPageContract,
    async_kinds.AsyncKindSearchContract,
    async_rewriting.AsyncRewriteContract,
    async_meanwhile.AsyncRewriteMeanwhileContract,
    async_admin.AsyncAdminContract,
    AsyncDataStoreContract,
):
    @pytest.fixture
    async def store(self, clock: ManualClock) -> AsyncIterator[AsyncStore]:
        opensearch.empty()
        async with attached_async(clock) as store:
            yield store


class WithAnIndex:
    def __init__(
        self, attach: Callable[[ManualClock], Store | AsyncStore], clock: ManualClock
    ) -> None:
        opensearch.empty()
        self.open = partial(attach, clock)

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""


TestMachine = machine_for(
    "memory with an index attached, sync", partial(WithAnIndex, attached)
).TestCase
TestAsyncMachine = machine_for(
    "memory with an index attached, async", partial(WithAnIndex, attached_async)
).TestCase
on_a_server(TestMachine, TestAsyncMachine, full=6, steps=25)
