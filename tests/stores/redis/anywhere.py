"""A Redis store of either twin, on one server or a cluster, called in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from servers import redis, redis_cluster

from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing.machine.driver import Driver

from .acts import new_id

SERVERS: dict[str, ModuleType] = {"redis": redis, "redis_cluster": redis_cluster}
TWINS: dict[str, Callable[..., Any]] = {"sync": RedisStore, "async": AsyncRedisStore}


class Called:
    """Calls a store as the sync twin is called, whichever it is."""

    def __init__(self, driver: Driver, target: Any) -> None:
        self._driver = driver
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if name == "admin":
            return Called(self._driver, found)
        return lambda *args, **options: self._driver._finish(found(*args, **options))


class Anywhere:
    """Where stores are opened: a kind of server, and a twin."""

    def __init__(self, server: str, twin: str) -> None:
        self.server = SERVERS[server]
        self._kind = TWINS[twin]
        self.server.empty()

    @contextmanager
    def open(self, **options: Any) -> Iterator[Any]:
        """Open a store until the end."""
        chosen = self._kind

        class Place:
            def open(self) -> Any:
                return chosen(url, prefix=redis.prefix(), new_id=new_id, **options)

            def discard(self) -> None:
                """Leave it to the next one, which begins by emptying it."""

        url = self.server.shared_url()
        with ExitStack() as stack:
            driver = Driver(Place())
            stack.callback(driver.end)
            yield Called(driver, driver.store)

    def own_keys(self) -> list[bytes]:
        """List the keys of this process of tests."""
        if self.server is redis:
            return redis.own_keys()
        found = redis_cluster.client().scan_iter(match=f"{redis.prefix()}:*", count=1_000)
        return sorted(found)
