"""The PostgreSQL store keeps the contract, in both twins and on partitioned tables."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

import pytest
from hypothesis import settings
from servers import postgres

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.postgres import AsyncPostgresStore, PostgresStore
from sapwood.testing import (
    AsyncDurableStoreContract,
    DurableStoreContract,
    ManualClock,
    machine_for,
)

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


class TestPostgresStore(DurableStoreContract):
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
    def reopen(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def reopen() -> Store:
            opened[-1].close()
            opened.append(open_store(PostgresStore, clock, self.partitions))
            return opened[-1]

        return reopen


class TestOnPartitions(TestPostgresStore):
    """The tables of trees are partitioned by the tree's hash."""

    partitions = PARTITIONS


class TestAsyncPostgresStore(AsyncDurableStoreContract):
    @pytest.fixture
    async def opened(self, postgres_url: str) -> AsyncIterator[list[AsyncStore]]:
        postgres.empty()
        stores: list[AsyncStore] = []
        yield stores
        for store in stores:
            await store.aclose()

    @pytest.fixture
    async def store(self, clock: ManualClock, opened: list[AsyncStore]) -> AsyncStore:
        opened.append(open_store(AsyncPostgresStore, clock))
        return opened[-1]

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def reopen() -> AsyncStore:
            await opened[-1].aclose()
            opened.append(open_store(AsyncPostgresStore, clock))
            return opened[-1]

        return reopen


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
    "PostgreSQL on partitions, async",
    partial(InASchema, AsyncPostgresStore, partitions=PARTITIONS),
).TestCase

# Each step compares all that there is, over a connection: fewer of them are enough here.
FEW = settings(max_examples=settings.default.max_examples // 2)
TestMachine.settings = TestAsyncMachine.settings = TestMachineOnPartitions.settings = FEW
