"""A Redis store with a prefix of its own, and what watches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis
from servers import redis
from servers.redis_watch import Watch

from sapwood.stores.redis import RedisStore

from .acts import new_id


@pytest.fixture
def redis_url(request: pytest.FixtureRequest, redis_url: str) -> str:
    """Give one that nobody else uses, where all that it is asked is watched."""
    if "watch" not in request.fixturenames:
        return redis_url
    own = redis.own_url()
    if own is None:
        pytest.skip("this watches a Redis that nobody else uses: run `make servers`")
    return own


@pytest.fixture
def prefix(redis_url: str) -> str:
    redis.empty(redis_url)
    return redis.prefix()


@pytest.fixture
def open_store(redis_url: str, prefix: str) -> Iterator[Callable[..., RedisStore]]:
    stores: list[RedisStore] = []

    def open_store(**options: Any) -> RedisStore:
        stores.append(RedisStore(redis_url, prefix=prefix, new_id=new_id, **options))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., RedisStore]) -> RedisStore:
    return open_store()


@pytest.fixture
def raw(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def watch(redis_url: str) -> Iterator[Watch]:
    with Watch(redis_url) as watch:
        yield watch
