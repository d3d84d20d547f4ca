"""Sessions in Redis or a Redis Cluster; needs the extra `redis`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.store import AsyncRedisStore
    from ._sync.store import RedisStore

__all__ = ["AsyncRedisStore", "RedisStore"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: the driver may not be installed.
        folders = {"AsyncRedisStore": "_async", "RedisStore": "_sync"}
        if name not in folders:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from ..base.refusals import missing_driver

        try:
            module = import_module(f".{folders[name]}.store", __name__)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "redis":
                raise
            raise missing_driver("Redis", "redis", error) from error
        globals()[name] = value = getattr(module, name)
        return value
