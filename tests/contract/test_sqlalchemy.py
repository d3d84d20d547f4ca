"""The SQLAlchemy store keeps the contract, in both twins, on MariaDB, PostgreSQL and SQLite."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import pytest
from servers.sql import Database, MariaDb, Postgres, Sqlite
from tier import STORAGE, WRITTEN_BY_HAND, usually

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, SqlAlchemyStore
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


def options(clock: ManualClock) -> dict[str, object]:
    return {"clock": clock, "new_id": IdMaker(clock, os.urandom), "most_connections": 8}


class OnADatabase(DataStoreContract, DurableStoreContract, SharedContract):
    __test__ = False
    kind: ClassVar[type[Database]]

    @pytest.fixture
    def opened(self) -> Iterator[tuple[Database, list[Store]]]:
        database = self.kind()
        stores: list[Store] = []
        yield database, stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, clock: ManualClock, opened: tuple[Database, list[Store]]) -> Store:
        database, stores = opened
        stores.append(database.open(SqlAlchemyStore, **options(clock)))
        return stores[-1]

    @pytest.fixture
    def take_out(self, opened: tuple[Database, list[Any]]) -> TakeOut:
        return by_sql(opened[0].run, opened[0].prefix())

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, opened: tuple[Database, list[Store]]
    ) -> Callable[[], Store]:
        database, stores = opened

        def reopen() -> Store:
            stores[-1].close()
            stores.append(database.open(SqlAlchemyStore, **options(clock)))
            return stores[-1]

        return reopen

    @pytest.fixture
    def another(
        self, clock: ManualClock, opened: tuple[Database, list[Store]]
    ) -> Callable[[], Store]:
        database, stores = opened

        def another() -> Store:
            stores.append(database.open(SqlAlchemyStore, **options(clock)))
            return stores[-1]

        return another


class AsyncOnADatabase(AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract):
    __test__ = False
    kind: ClassVar[type[Database]]

    @pytest.fixture
    async def opened(self) -> AsyncIterator[tuple[Database, list[AsyncStore]]]:
        database = self.kind()
        stores: list[AsyncStore] = []
        yield database, stores
        for store in stores:
            await store.aclose()

    @pytest.fixture
    async def store(
        self, clock: ManualClock, opened: tuple[Database, list[AsyncStore]]
    ) -> AsyncStore:
        database, stores = opened
        stores.append(database.open(AsyncSqlAlchemyStore, **options(clock)))
        return stores[-1]

    @pytest.fixture
    def take_out(self, opened: tuple[Database, list[Any]]) -> TakeOut:
        return by_sql(opened[0].run, opened[0].prefix())

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, opened: tuple[Database, list[AsyncStore]]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        database, stores = opened

        async def reopen() -> AsyncStore:
            await stores[-1].aclose()
            stores.append(database.open(AsyncSqlAlchemyStore, **options(clock)))
            return stores[-1]

        return reopen

    @pytest.fixture
    def another(
        self, clock: ManualClock, opened: tuple[Database, list[AsyncStore]]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        database, stores = opened

        async def another() -> AsyncStore:
            stores.append(database.open(AsyncSqlAlchemyStore, **options(clock)))
            return stores[-1]

        return another


@usually(only=WRITTEN_BY_HAND)
@pytest.mark.usefixtures("mariadb_url")
class TestMariaDb(OnADatabase):
    __test__ = True
    kind = MariaDb


@pytest.mark.usefixtures("mariadb_url")
class TestAsyncMariaDb(AsyncOnADatabase):
    __test__ = True
    kind = MariaDb


@pytest.mark.full
@pytest.mark.usefixtures("postgres_url")
class TestPostgres(OnADatabase):
    __test__ = True
    kind = Postgres


@usually(only=STORAGE)
@pytest.mark.usefixtures("postgres_url")
class TestAsyncPostgres(AsyncOnADatabase):
    __test__ = True
    kind = Postgres


@usually(only=WRITTEN_BY_HAND)
class TestSqlite(OnADatabase):
    __test__ = True
    kind = Sqlite


@usually(only=STORAGE)
class TestAsyncSqlite(AsyncOnADatabase):
    __test__ = True
    kind = Sqlite


class Place:
    """Where the state machine opens a store."""

    def __init__(
        self, kind: type[Database], twin: Callable[..., Store | AsyncStore], clock: ManualClock
    ) -> None:
        self._database = kind()
        self._twin = twin
        self._clock = clock

    def open(self) -> Store | AsyncStore:
        found: Store | AsyncStore = self._database.open(self._twin, **options(self._clock))
        return found

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""


def machine(name: str, kind: type[Database], twin: Callable[..., Store | AsyncStore]) -> type:
    return machine_for(f"SQLAlchemy on {name}", partial(Place, kind, twin)).TestCase


TestMachineOnSqlite = machine("SQLite, sync", Sqlite, SqlAlchemyStore)
TestAsyncMachineOnSqlite = machine("SQLite, async", Sqlite, AsyncSqlAlchemyStore)
TestMachineOnMariaDb = pytest.mark.usefixtures("mariadb_url")(
    machine("MariaDB, sync", MariaDb, SqlAlchemyStore)
)
TestAsyncMachineOnMariaDb = pytest.mark.usefixtures("mariadb_url")(
    machine("MariaDB, async", MariaDb, AsyncSqlAlchemyStore)
)
TestMachineOnPostgres = pytest.mark.usefixtures("postgres_url")(
    machine("PostgreSQL, sync", Postgres, SqlAlchemyStore)
)
TestAsyncMachineOnPostgres = pytest.mark.usefixtures("postgres_url")(
    machine("PostgreSQL, async", Postgres, AsyncSqlAlchemyStore)
)
on_a_server(TestMachineOnSqlite, TestAsyncMachineOnSqlite, full=12)
on_a_server(TestMachineOnMariaDb, TestAsyncMachineOnMariaDb, full=12)
on_a_server(TestMachineOnPostgres, TestAsyncMachineOnPostgres, full=12)
