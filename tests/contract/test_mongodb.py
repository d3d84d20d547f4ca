"""The MongoDB store keeps the contract, in both twins."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from servers import mongodb
from tier import BAD_INPUT, WRITTEN_BY_HAND, often, usually

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.mongodb import AsyncMongoStore, MongoStore
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

# FerretDB takes 10 ms for a look-up, and a test of many forks makes thousands.
pytestmark = [pytest.mark.usefixtures("mongodb_url"), pytest.mark.timeout(180)]


def open_store(kind: Callable[..., Store | AsyncStore], clock: ManualClock) -> Store | AsyncStore:
    return kind(
        mongodb.shared_url(),
        database=mongodb.database(),
        clock=clock,
        new_id=IdMaker(clock, os.urandom),
    )


@usually(only=WRITTEN_BY_HAND)
class TestMongoStore(DataStoreContract, DurableStoreContract, SharedContract):
    walk_steps = often(20, 300)

    @pytest.fixture
    def opened(self, mongodb_url: str) -> Iterator[list[Store]]:
        mongodb.empty()
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, clock: ManualClock, opened: list[Store]) -> Store:
        opened.append(open_store(MongoStore, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return from_records(mongodb.records, mongodb.delete_record)

    @pytest.fixture
    def reopen(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def reopen() -> Store:
            opened[-1].close()
            opened.append(open_store(MongoStore, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def another() -> Store:
            opened.append(open_store(MongoStore, clock))
            return opened[-1]

        return another


@usually(without=BAD_INPUT)
class TestAsyncMongoStore(AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract):
    walk_steps = often(20, 300)

    @pytest.fixture
    async def opened(self, mongodb_url: str) -> AsyncIterator[list[AsyncStore]]:
        mongodb.empty()
        stores: list[AsyncStore] = []
        yield stores
        for store in stores:
            await store.aclose()

    @pytest.fixture
    async def store(self, clock: ManualClock, opened: list[AsyncStore]) -> AsyncStore:
        opened.append(open_store(AsyncMongoStore, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return from_records(mongodb.records, mongodb.delete_record)

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def reopen() -> AsyncStore:
            await opened[-1].aclose()
            opened.append(open_store(AsyncMongoStore, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def another() -> AsyncStore:
            opened.append(open_store(AsyncMongoStore, clock))
            return opened[-1]

        return another


class InADatabase:
    def __init__(self, kind: Callable[..., Store | AsyncStore], clock: ManualClock) -> None:
        mongodb.empty()
        self.open = partial(open_store, kind, clock)

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""


TestMachine = machine_for("MongoDB, sync", partial(InADatabase, MongoStore)).TestCase
TestAsyncMachine = machine_for("MongoDB, async", partial(InADatabase, AsyncMongoStore)).TestCase

# The server looks at every document for most questions: the record log's own machine
# (tests/recordlog) tries many more.
on_a_server(TestMachine, TestAsyncMachine, full=4, steps=20)
pytest.mark.timeout(600)(TestMachine)
pytest.mark.timeout(600)(TestAsyncMachine)
