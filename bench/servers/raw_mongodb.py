"""MongoDB by hand: PyMongo, one collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pymongo import ASCENDING, AsyncMongoClient, MongoClient
from raw_side import Raw, Said, decoded

from sapwood.model import Message

_DATABASE, _COLLECTION = "raw", "message"
_BLOCK = 500


def _document(session: str, depth: int, said: Said) -> dict[str, Any]:
    return {
        "_id": f"{session}/{depth}",
        "session": session,
        "depth": depth,
        "id": said.id,
        "role": said.role,
        "tokens": said.tokens,
        "body": said.body,
    }


class RawMongo(Raw):
    """One `insert_one` for a message."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: MongoClient[dict[str, Any]] = MongoClient(url)
        self._messages = self._client[_DATABASE][_COLLECTION]
        keys = [("session", ASCENDING), ("depth", ASCENDING)]
        self._messages.create_index(keys)

    def insert(self, session: str, depth: int, said: Said) -> None:
        self._messages.insert_one(_document(session, depth, said))

    def fill(self, session: str, said: Sequence[Said]) -> None:
        for begin in range(0, len(said), _BLOCK):
            block = enumerate(said[begin : begin + _BLOCK], begin + 1)
            self._messages.insert_many([_document(session, depth, it) for depth, it in block])

    def range(self, session: str, first: int, last: int) -> list[Message]:
        query = {"session": session, "depth": {"$gte": first, "$lte": last}}
        found = self._messages.find(query).sort("depth", ASCENDING)
        return [
            decoded(session, it["depth"], it["id"], it["role"], it["tokens"], it["body"])
            for it in found
        ]

    def close(self) -> None:
        self._client.close()

    async def open_pool(self, size: int) -> None:
        self._async_client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
            self._url, maxPoolSize=size
        )
        self._async_messages = self._async_client[_DATABASE][_COLLECTION]

    async def insert_async(self, session: str, depth: int, said: Said) -> None:
        await self._async_messages.insert_one(_document(session, depth, said))

    async def close_pool(self) -> None:
        await self._async_client.close()
