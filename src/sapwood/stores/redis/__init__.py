"""Sessions in Redis or a Redis Cluster; needs the extra `redis`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncRedisStore
    from ._sync.store import RedisStore

__all__ = ["AsyncRedisStore", "RedisStore"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ...lazy_names import lazy_names

    # The driver may not be installed.
    __getattr__ = lazy_names(
        __name__,
        {"AsyncRedisStore": "._async.store", "RedisStore": "._sync.store"},
        drivers=("redis",),
        missing="Redis needs its driver: pip install 'sapwood[redis]'",
    )
