"""Redis by hand: redis-py, a list for each session."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import redis
import redis.asyncio
from raw_side import Raw, Said, decoded

from sapwood.model import Message

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[str, str, int, bytes]).decode
_BLOCK = 500


def _value(said: Said) -> bytes:
    return _encode((said.id, said.role, said.tokens, said.body))


class RawRedis(Raw):
    """One command, `RPUSH`, for a message."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = redis.Redis.from_url(url)

    def insert(self, session: str, depth: int, said: Said) -> None:
        self._client.rpush(f"raw:{session}", _value(said))

    def fill(self, session: str, said: Sequence[Said]) -> None:
        for begin in range(0, len(said), _BLOCK):
            self._client.rpush(f"raw:{session}", *map(_value, said[begin : begin + _BLOCK]))

    def range(self, session: str, first: int, last: int) -> list[Message]:
        found: list[bytes] = self._client.lrange(f"raw:{session}", first - 1, last - 1)  # type: ignore[assignment]
        return [decoded(session, depth, *_decode(data)) for depth, data in enumerate(found, first)]

    def close(self) -> None:
        self._client.close()

    async def open_pool(self, size: int) -> None:
        pool = redis.asyncio.BlockingConnectionPool.from_url(self._url, max_connections=size)
        self._async_client = redis.asyncio.Redis(connection_pool=pool)

    async def insert_async(self, session: str, depth: int, said: Said) -> None:
        await self._async_client.rpush(f"raw:{session}", _value(said))  # type: ignore[misc]

    async def close_pool(self) -> None:
        await self._async_client.aclose()
        await self._async_client.connection_pool.aclose()
