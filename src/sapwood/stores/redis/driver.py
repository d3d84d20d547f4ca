"""The few things in which the twins differ by more than a word.

The names beginning with `Async` are used in the source; the generator drops that word.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

from redis import Redis, RedisCluster, __version__
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio import RedisCluster as AsyncRedisCluster
from redis.asyncio.connection import BlockingConnectionPool as AsyncPool
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.connection import BlockingConnectionPool as Pool
from redis.exceptions import MaxConnectionsError, ResponseError
from redis.retry import Retry

__all__ = [
    "AsyncConnectionSlots",
    "AsyncLock",
    "AsyncRedisDriver",
    "ConnectionSlots",
    "Lock",
    "RedisDriver",
]

AsyncLock = asyncio.Lock
Lock = threading.Lock

T = TypeVar("T")
# Before that version a pool wanted to know for which command, and never used it.
_FOR: tuple[str, ...] = () if tuple(map(int, __version__.split(".")[:2])) >= (5, 3) else ("_",)
CONNECT_WITHIN_S = 10.0
# A cluster's client asks again by itself, after it has asked which node is the right one.
CLUSTER_RETRIES = 3
CLUSTER_BACKOFF = {"cap": 1.0, "base": 0.1}


def _limits(answer_within_s: float, tries: int = 1) -> dict[str, Any]:
    """Return for how long to wait for a server; what the URL says counts for more.

    Older drivers wait for ever unless they are told otherwise.
    """
    seconds = answer_within_s / tries
    return {"socket_timeout": seconds, "socket_connect_timeout": min(seconds, CONNECT_WITHIN_S)}


class AsyncConnectionSlots:
    """Lets so many tasks at a time through; one that waits too long is refused."""

    def __init__(self, most: int, patience_s: float) -> None:
        self._free = asyncio.Semaphore(most)
        self._patience_s = patience_s

    async def __aenter__(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(self._patience_s):
                await self._free.acquire()
        except TimeoutError:
            raise MaxConnectionsError("No connection available") from None

    async def __aexit__(self, *details: object) -> None:
        self._free.release()


class ConnectionSlots:
    """Lets so many threads at a time through; one that waits too long is refused."""

    def __init__(self, most: int, patience_s: float) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._patience_s = patience_s

    def __enter__(self) -> None:
        if not self._free.acquire(timeout=self._patience_s):
            raise MaxConnectionsError("No connection available")

    def __exit__(self, *details: object) -> None:
        self._free.release()


class AsyncRedisDriver:
    """The driver's half for event loops."""

    @staticmethod
    async def pause(seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    @staticmethod
    async def finish(go: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """Do something to its end; a caller that is cancelled waits for its outcome."""
        task = asyncio.create_task(go(*args))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # seen, though nobody is told
            raise

    @staticmethod
    def single(url: str, most: int, patience_s: float, answer_within_s: float) -> AsyncRedis:
        """Make a client of one server, which does not connect yet."""
        pool = AsyncPool.from_url(
            url,
            max_connections=most,
            timeout=patience_s,
            retry=AsyncRetry(NoBackoff(), 0),
            **_limits(answer_within_s),
        )
        return AsyncRedis.from_pool(cast(Any, pool))

    @staticmethod
    async def fetch(client: AsyncRedis, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Run commands in one go, with answers as they come; an error is an answer, too.

        A pipeline does the same, and as much again to get ready for all that it can do.
        """
        pool: Any = client.connection_pool
        connection = await pool.get_connection(*_FOR)
        try:
            await connection.send_packed_command(connection.pack_commands(commands))
            answers: list[Any] = []
            for _ in commands:
                try:
                    answers.append(await connection.read_response())
                except ResponseError as error:
                    answers.append(error)
        except BaseException:
            # Who gets the connection next must not get answers that are still to come.
            await connection.disconnect()
            raise
        finally:
            await pool.release(connection)
        return answers

    @staticmethod
    def cluster(url: str, most: int, answer_within_s: float) -> AsyncRedisCluster:
        """Make a client of a cluster."""
        retry = AsyncRetry(ExponentialBackoff(**CLUSTER_BACKOFF), CLUSTER_RETRIES)
        limits = _limits(answer_within_s, CLUSTER_RETRIES + 1)
        return AsyncRedisCluster.from_url(url, max_connections=most, retry=retry, **limits)

    @staticmethod
    async def close(client: Any) -> None:
        """Close a client; one whose closing was broken off has a cluster's nodes still open."""
        await client.aclose()
        if isinstance(client, AsyncRedisCluster):
            for node in (*client.get_nodes(), *client.nodes_manager.startup_nodes.values()):
                await node.disconnect()

    @staticmethod
    def is_cluster(client: object) -> bool:
        """Whether a client is a cluster's; raise TypeError for one of the other twin."""
        if isinstance(client, AsyncRedisCluster):
            return True
        if not isinstance(client, AsyncRedis):
            raise TypeError("redis.asyncio.Redis or redis.asyncio.RedisCluster")
        return False


class RedisDriver:
    """The driver's half for threads."""

    @staticmethod
    def pause(seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    @staticmethod
    def finish(go: Callable[..., T], *args: Any) -> T:
        """Do something to its end."""
        return go(*args)

    @staticmethod
    def single(url: str, most: int, patience_s: float, answer_within_s: float) -> Redis:
        """Make a client of one server, which does not connect yet."""
        pool = Pool.from_url(
            url,
            max_connections=most,
            timeout=patience_s,
            retry=Retry(NoBackoff(), 0),
            **_limits(answer_within_s),
        )
        return Redis.from_pool(pool)

    @staticmethod
    def fetch(client: Redis, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Run commands in one go, with answers as they come; an error is an answer, too.

        A pipeline does the same, and as much again to get ready for all that it can do.
        """
        pool: Any = client.connection_pool
        connection = pool.get_connection(*_FOR)
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            answers: list[Any] = []
            for _ in commands:
                try:
                    answers.append(connection.read_response())
                except ResponseError as error:
                    answers.append(error)
        except BaseException:
            # Who gets the connection next must not get answers that are still to come.
            connection.disconnect()
            raise
        finally:
            pool.release(connection)
        return answers

    @staticmethod
    def cluster(url: str, most: int, answer_within_s: float) -> RedisCluster:
        """Make a client of a cluster."""
        retry = Retry(ExponentialBackoff(**CLUSTER_BACKOFF), CLUSTER_RETRIES)
        limits = _limits(answer_within_s, CLUSTER_RETRIES + 1)
        return RedisCluster.from_url(url, max_connections=most, retry=retry, **limits)

    @staticmethod
    def close(client: Any) -> None:
        """Close a client."""
        client.close()

    @staticmethod
    def is_cluster(client: object) -> bool:
        """Whether a client is a cluster's; raise TypeError for one of the other twin."""
        if isinstance(client, RedisCluster):
            return True
        if not isinstance(client, Redis):
            raise TypeError("redis.Redis or redis.RedisCluster")
        return False
