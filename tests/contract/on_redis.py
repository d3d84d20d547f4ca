"""Opens stores on Redis servers, for the contract."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, ClassVar

import pytest
from servers import redis, redis_cluster

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing import ManualClock, TakeOut

from .taking_out import from_redis

Kind = Callable[..., Store | AsyncStore]


def open_store(server: ModuleType, kind: Kind, clock: ManualClock) -> Store | AsyncStore:
    options = {"prefix": redis.prefix(), "clock": clock, "new_id": IdMaker(clock, os.urandom)}
    if kind is RedisStore and server is redis_cluster:
        # To learn of all servers takes longer than most tests.
        return kind(client=redis_cluster.client(), **options)
    return kind(server.shared_url(), **options)


class OnServers:
    """The fixtures of a contract class for the sync twin."""

    server: ClassVar[ModuleType]

    @pytest.fixture
    def opened(self) -> Iterator[list[Store]]:
        self.server.empty()
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, clock: ManualClock, opened: list[Store]) -> Store:
        opened.append(open_store(self.server, RedisStore, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return from_redis(self.server.client, redis.prefix())

    @pytest.fixture
    def reopen(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def reopen() -> Store:
            opened[-1].close()
            opened.append(open_store(self.server, RedisStore, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(self, clock: ManualClock, opened: list[Store]) -> Callable[[], Store]:
        def another() -> Store:
            opened.append(open_store(self.server, RedisStore, clock))
            return opened[-1]

        return another


class AsyncOnServers:
    """The fixtures of a contract class for the async twin."""

    server: ClassVar[ModuleType]

    @pytest.fixture
    async def opened(self) -> AsyncIterator[list[AsyncStore]]:
        self.server.empty()
        stores: list[AsyncStore] = []
        yield stores
        for store in stores:
            await store.aclose()

    @pytest.fixture
    async def store(self, clock: ManualClock, opened: list[AsyncStore]) -> AsyncStore:
        opened.append(open_store(self.server, AsyncRedisStore, clock))
        return opened[-1]

    @pytest.fixture
    def take_out(self, opened: list[Any]) -> TakeOut:
        return from_redis(self.server.client, redis.prefix())

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def reopen() -> AsyncStore:
            await opened[-1].aclose()
            opened.append(open_store(self.server, AsyncRedisStore, clock))
            return opened[-1]

        return reopen

    @pytest.fixture
    def another(
        self, clock: ManualClock, opened: list[AsyncStore]
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def another() -> AsyncStore:
            opened.append(open_store(self.server, AsyncRedisStore, clock))
            return opened[-1]

        return another


class UnderAPrefix:
    """Where the state machine opens its stores."""

    def __init__(self, server: ModuleType, kind: Kind, clock: ManualClock) -> None:
        server.empty()
        self.open = partial(open_store, server, kind, clock)

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""
