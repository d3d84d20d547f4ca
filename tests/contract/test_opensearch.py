"""The OpenSearch store keeps the contract, in both twins."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from servers import opensearch
from tier import BAD_INPUT, WRITTEN_BY_HAND, often, usually

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.opensearch import AsyncOpenSearchStore, OpenSearchStore
from sapwood.testing import (
    AsyncDataStoreContract,
    AsyncDurableStoreContract,
    AsyncSharedContract,
    DataStoreContract,
    DurableStoreContract,
    ManualClock,
    SharedContract,
    TakeOut,
    machine_for,
)

from .places import on_a_server
from .taking_out import from_records

pytestmark = pytest.mark.usefixtures("opensearch_url")


def open_store(kind: Callable[..., Store | AsyncStore], clock: ManualClock) -> Store | AsyncStore:
    return kind(
        opensearch.shared_url(),
        prefix=opensearch.prefix(),
        clock=clock,
        new_id=IdMaker(clock, os.urandom),
    )


@usually(only=WRITTEN_BY_HAND)
class TestOpenSearchStore(DataStoreContract, DurableStoreContract, SharedContract):
    walk_steps = often(20, 300)

    @pytest.fixture
    def opened(self, opensearch_url: str) -> Iterator[list[Store]]:
        opensearch.empty()
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, clock: ManualClock, opened: list[Store]) -> Store:
        opened.append(open_store(OpenSearchStore, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return from_records(opensearch.records, opensearch.delete_record)

    @pytest.fixture
    def reopen(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def reopen() -> Store:
            opened[-1].close()
            opened.append(open_store(OpenSearchStore, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def another() -> Store:
            opened.append(open_store(OpenSearchStore, clock))
            return opened[-1]

        return another


@usually(without=BAD_INPUT)
class TestAsyncOpenSearchStore(
    AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract
):
    walk_steps = often(20, 300)

    @pytest.fixture
    async def opened(self, opensearch_url: str) -> AsyncIterator[list[AsyncStore]]:
        opensearch.empty()
        stores: list[AsyncStore] = []
        yield stores
        for store in stores:
            await store.aclose()

    @pytest.fixture
    async def store(self, clock: ManualClock, opened: list[AsyncStore]) -> AsyncStore:
        opened.append(open_store(AsyncOpenSearchStore, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return from_records(opensearch.records, opensearch.delete_record)

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def reopen() -> AsyncStore:
            await opened[-1].aclose()
            opened.append(open_store(AsyncOpenSearchStore, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def another() -> AsyncStore:
            opened.append(open_store(AsyncOpenSearchStore, clock))
            return opened[-1]

        return another


class InIndices:
    def __init__(self, kind: Callable[..., Store | AsyncStore], clock: ManualClock) -> None:
        opensearch.empty()
        self.open = partial(open_store, kind, clock)

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""


TestMachine = machine_for("OpenSearch, sync", partial(InIndices, OpenSearchStore)).TestCase
TestAsyncMachine = machine_for(
    "OpenSearch, async", partial(InIndices, AsyncOpenSearchStore)
).TestCase

on_a_server(TestMachine, TestAsyncMachine, full=6, steps=25)
pytest.mark.timeout(300)(TestMachine)
pytest.mark.timeout(300)(TestAsyncMachine)
