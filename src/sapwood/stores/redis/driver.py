"""The few things in which the twins differ by more than a word.

The names beginning with `Async` are used in the source; the generator drops that word.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from redis import Redis, RedisCluster
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio import RedisCluster as AsyncRedisCluster
from redis.asyncio.connection import BlockingConnectionPool as AsyncPool
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.connection import BlockingConnectionPool as Pool
from redis.exceptions import MaxConnectionsError
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

CONNECT_WITHIN_S = 10.0
# A cluster's client asks again by itself, after it has asked which node is the right one.
CLUSTER_RETRIES = 3


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


class _DriverHalf:
    """What is done alike with the classes of either half."""

    names: str
    """The clients that a user may give, for an error."""
    single: Any
    clustered: Any
    pool: Any
    retry: Any

    @classmethod
    def connect(
        cls, url: str, *, is_cluster: bool, most: int, patience_s: float, answer_within_s: float
    ) -> Any:
        """Make a client; only the sync one of a cluster connects yet.

        Older drivers wait for ever unless they are told otherwise. What the URL says counts for
        more.
        """
        retries = CLUSTER_RETRIES if is_cluster else 0
        seconds = answer_within_s / (retries + 1)
        options = {
            "max_connections": most,
            "socket_timeout": seconds,
            "socket_connect_timeout": min(seconds, CONNECT_WITHIN_S),
        }
        if is_cluster:
            retry = cls.retry(ExponentialBackoff(cap=1.0, base=0.1), retries)
            return cls.clustered.from_url(url, retry=retry, **options)
        retry = cls.retry(NoBackoff(), retries)
        pool = cls.pool.from_url(url, timeout=patience_s, retry=retry, **options)
        return cls.single.from_pool(pool)


class AsyncRedisDriver(_DriverHalf):
    """The driver's half for event loops."""

    names = "redis.asyncio.Redis or redis.asyncio.RedisCluster"
    single = AsyncRedis
    clustered = AsyncRedisCluster
    pool = AsyncPool
    retry = AsyncRetry

    @staticmethod
    async def close(client: Any) -> None:
        """Close a client; one whose closing was broken off has a cluster's nodes still open."""
        await client.aclose()
        if isinstance(client, AsyncRedisCluster):
            for node in (*client.get_nodes(), *client.nodes_manager.startup_nodes.values()):
                await node.disconnect()


class RedisDriver(_DriverHalf):
    """The driver's half for threads."""

    names = "redis.Redis or redis.RedisCluster"
    single = Redis
    clustered = RedisCluster
    pool = Pool
    retry = Retry

    @staticmethod
    def close(client: Any) -> None:
        """Close a client."""
        client.close()
