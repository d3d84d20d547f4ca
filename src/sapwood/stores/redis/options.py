"""The driver's clients in both forms, and a store's options, checked before anything connects."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

from redis import Redis, RedisCluster
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio import RedisCluster as AsyncRedisCluster
from redis.asyncio.connection import BlockingConnectionPool as AsyncPool
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.connection import BlockingConnectionPool as Pool
from redis.connection import parse_url
from redis.exceptions import MaxConnectionsError
from redis.retry import Retry

from ...errors import UsageError

AsyncLock = asyncio.Lock
Lock = threading.Lock

CONNECT_WITHIN_S = 10.0
# A cluster's client asks again by itself, after it has asked which node is the right one.
CLUSTER_RETRIES = 3

_CLUSTER = "+cluster"
_LONGEST_S = 10 * 365 * 86_400


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


def check_url(url: str) -> tuple[str, bool]:
    """Return the driver's URL, and whether it is a cluster's; a password is never shown."""
    scheme, mark, rest = str(url).partition("://")
    is_cluster = scheme.endswith(_CLUSTER)
    scheme = scheme.removesuffix(_CLUSTER)
    if not mark or scheme not in ("redis", "rediss"):
        raise UsageError(
            "the URL cannot be read: use redis://, rediss://, redis+cluster:// or "
            "rediss+cluster://, then user:password@host:port",
            path="url",
        )
    address = f"{scheme}://{rest}"
    try:
        parse_url(address)  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):
        raise UsageError(
            "the URL cannot be read: use redis://user:password@host:port/number", path="url"
        ) from None
    return address, is_cluster


def check_client(client: Any, driver: type[AsyncRedisDriver | RedisDriver]) -> bool:
    """Check a client; return whether it is a cluster's."""
    if not isinstance(client, (driver.single, driver.clustered)):
        raise UsageError(f"the client must be a {driver.names}", path="client")
    if client.get_encoder().decode_responses:
        raise UsageError(
            "the client decodes what it reads, and bodies are bytes: "
            "make it with decode_responses=False",
            path="client",
        )
    return isinstance(client, driver.clustered)


def check_prefix(prefix: str) -> str:
    """Return what all keys begin with, once it is checked."""
    is_text = isinstance(prefix, str) and prefix.isprintable() and prefix.isascii()
    if not is_text or not 0 < len(prefix) <= 64 or set("{} *?[]\\") & set(prefix):
        raise UsageError(
            "prefix must be 1 to 64 ASCII characters without blanks, braces and wildcards",
            path="prefix",
        )
    return prefix


def check_ttl(seconds: float | None) -> int | None:
    """Check for how long a session is kept; return microseconds."""
    if seconds is None:
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not math.isfinite(seconds) or not 0 < seconds <= _LONGEST_S:
        raise UsageError(
            f"session_ttl_s must be a number of seconds above 0, not {seconds!r}",
            path="session_ttl_s",
        )
    return max(1, round(seconds * 1_000_000))


def read_ttl(text: str | None) -> float | None:
    """Read the parameter of a URL."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"ttl must be a number of seconds, not {text!r}", path="ttl") from None
