"""The SQLite store keeps the contract, in both twins."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tier import often

from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore
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

from .places import InAFile, as_many
from .taking_out import from_a_file


def open_sync(path: Path, clock: ManualClock) -> SqliteStore:
    return SqliteStore(path / "s.db", clock=clock, new_id=IdMaker(clock, os.urandom))


def open_async(path: Path, clock: ManualClock) -> AsyncSqliteStore:
    return AsyncSqliteStore(path / "s.db", clock=clock, new_id=IdMaker(clock, os.urandom))


class TestSqliteStore(DataStoreContract, DurableStoreContract, SharedContract):
    concurrent_runs, serial_runs = often(4, 20), often(10, 40)
    walk_steps = often(500, 24_000)

    @pytest.fixture
    def opened(self) -> Iterator[list[SqliteStore]]:
        stores: list[SqliteStore] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, tmp_path: Path, clock: ManualClock, opened: list[SqliteStore]) -> SqliteStore:
        opened.append(open_sync(tmp_path, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, tmp_path: Path) -> TakeOut:
        return from_a_file(tmp_path / "s.db")

    @pytest.fixture
    def reopen(
        self, tmp_path: Path, clock: ManualClock, opened: list[SqliteStore]
    ) -> Callable[[], SqliteStore]:
        def reopen() -> SqliteStore:
            opened[-1].close()
            opened.append(open_sync(tmp_path, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(
        self, tmp_path: Path, clock: ManualClock, opened: list[SqliteStore]
    ) -> Callable[[], SqliteStore]:
        def another() -> SqliteStore:
            opened.append(open_sync(tmp_path, clock))
            return opened[-1]

        return another


class TestAsyncSqliteStore(AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract):
    concurrent_runs, serial_runs = often(4, 20), often(10, 40)

    @pytest.fixture
    async def opened(self) -> AsyncIterator[list[AsyncSqliteStore]]:
        stores: list[AsyncSqliteStore] = []
        yield stores
        for store in stores:
            await store.aclose()

    @pytest.fixture
    async def store(
        self, tmp_path: Path, clock: ManualClock, opened: list[AsyncSqliteStore]
    ) -> AsyncSqliteStore:
        opened.append(open_async(tmp_path, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, tmp_path: Path) -> TakeOut:
        return from_a_file(tmp_path / "s.db")

    @pytest.fixture
    def reopen(
        self, tmp_path: Path, clock: ManualClock, opened: list[AsyncSqliteStore]
    ) -> Callable[[], Awaitable[AsyncSqliteStore]]:
        async def reopen() -> AsyncSqliteStore:
            await opened[-1].aclose()
            opened.append(open_async(tmp_path, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(
        self, tmp_path: Path, clock: ManualClock, opened: list[AsyncSqliteStore]
    ) -> Callable[[], Awaitable[AsyncSqliteStore]]:
        async def another() -> AsyncSqliteStore:
            opened.append(open_async(tmp_path, clock))
            return opened[-1]

        return another


TestMachine = machine_for("SQLite, sync", partial(InAFile, SqliteStore)).TestCase
TestAsyncMachine = machine_for("SQLite, async", partial(InAFile, AsyncSqliteStore)).TestCase

# A few steps find little: most mistakes need a fork, a deletion and what comes after them.
TestMachine.settings = TestAsyncMachine.settings = as_many(usual=15, full=120, steps=40)
