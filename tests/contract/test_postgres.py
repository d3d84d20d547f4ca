"""The PostgreSQL store keeps the contract, in both twins and on partitioned tables."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from servers import postgres
from tier import STORAGE, WRITTEN_BY_HAND, often, usually

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.postgres import AsyncPostgresStore, PostgresStore
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
from .taking_out import by_sql

pytestmark = pytest.mark.usefixtures("postgres_url")


PARTITIONS = 3


def open_store(
    kind: Callable[..., Store | AsyncStore], clock: ManualClock, partitions: int = 0
) -> Store | AsyncStore:
    return kind(
        postgres.shared_url(),
        schema=postgres.schema(partitions),
        partitions=partitions,
        clock=clock,
        new_id=IdMaker(clock, os.urandom),
    )


@usually(only=WRITTEN_BY_HAND)
class TestPostgresStore(DataStoreContract, DurableStoreContract, SharedContract):
    partitions = 0

    @pytest.fixture
    def opened(self, postgres_url: str) -> Iterator[list[Store]]:
        postgres.empty(self.partitions)
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, clock: ManualClock, opened: list[Store]) -> Store:
        opened.append(open_store(PostgresStore, clock, self.partitions))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return by_sql(postgres.run, f"{postgres.schema(self.partitions)}.")

    @pytest.fixture
    def reopen(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def reopen() -> Store:
            opened[-1].close()
            opened.append(open_store(PostgresStore, clock, self.partitions))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def another() -> Store:
            opened.append(open_store(PostgresStore, clock, self.partitions))
            return opened[-1]

        return another


@pytest.mark.full
class TestOnPartitions(TestPostgresStore):
    """The tables of trees are partitioned by the tree's hash."""

    partitions = PARTITIONS


class TestAsyncPostgresStore(
    AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract
):
    partitions = 0
    walk_steps = often(100, 24_000)

    @pytest.fixture
    async def opened(self, postgres_url: str) -> AsyncIterator[list[AsyncStore]]:
        postgres.empty(self.partitions)
        stores: list[AsyncStore] = []
        yield stores
        for store in stores:
            await store.aclose()

    @pytest.fixture
    async def store(self, clock: ManualClock, opened: list[AsyncStore]) -> AsyncStore:
        opened.append(open_store(AsyncPostgresStore, clock, self.partitions))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return by_sql(postgres.run, f"{postgres.schema(self.partitions)}.")

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def reopen() -> AsyncStore:
            await opened[-1].aclose()
            opened.append(open_store(AsyncPostgresStore, clock, self.partitions))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def another() -> AsyncStore:
            opened.append(open_store(AsyncPostgresStore, clock, self.partitions))
            return opened[-1]

        return another


@usually(only=STORAGE)
class TestAsyncOnPartitions(TestAsyncPostgresStore):
    """The same on an event loop."""

    partitions = PARTITIONS
    walk_steps = often(100, 2_000)


class InASchema:
    def __init__(
        self, kind: Callable[..., Store | AsyncStore], clock: ManualClock, partitions: int = 0
    ) -> None:
        postgres.empty(partitions)
        self.open = partial(open_store, kind, clock, partitions)

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""


TestMachine = machine_for("PostgreSQL, sync", partial(InASchema, PostgresStore)).TestCase
TestAsyncMachine = machine_for("PostgreSQL, async", partial(InASchema, AsyncPostgresStore)).TestCase
TestMachineOnPartitions = machine_for(
    "PostgreSQL on partitions, sync", partial(InASchema, PostgresStore, partitions=PARTITIONS)
).TestCase
TestAsyncMachineOnPartitions = machine_for(
    "PostgreSQL on partitions, async",
    partial(InASchema, AsyncPostgresStore, partitions=PARTITIONS),
).TestCase

on_a_server(TestMachine, TestAsyncMachine, full=30)
on_a_server(TestMachineOnPartitions, TestAsyncMachineOnPartitions, full=16)
