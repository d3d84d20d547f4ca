"""The memory store keeps the contract, in both twins."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest
from tier import often

from sapwood.rules.ids import IdMaker
from sapwood.stores.memory import AsyncMemoryStore, MemoryStore
from sapwood.testing import (
    AsyncDataStoreContract,
    AsyncStoreContract,
    DataStoreContract,
    ManualClock,
    StoreContract,
    machine_for,
)

from .places import InMemory, as_many


class TestMemoryStore(DataStoreContract, StoreContract):
    concurrent_runs, serial_runs = often(4, 20), often(10, 40)
    walk_steps = often(500, 24_000)

    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[MemoryStore]:
        with MemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom)) as store:
            yield store


class TestAsyncMemoryStore(AsyncDataStoreContract, AsyncStoreContract):
    concurrent_runs, serial_runs = often(4, 20), often(10, 40)

    @pytest.fixture
    async def store(self, clock: ManualClock) -> AsyncIterator[AsyncMemoryStore]:
        async with AsyncMemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom)) as store:
            yield store


TestMachine = machine_for("memory, sync", partial(InMemory, MemoryStore)).TestCase
TestAsyncMachine = machine_for("memory, async", partial(InMemory, AsyncMemoryStore)).TestCase

# Steps cost little here: take more of them.
TestMachine.settings = TestAsyncMachine.settings = as_many(usual=30, full=120)
