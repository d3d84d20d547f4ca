"""OpenSearch by hand: opensearch-py, one index, routed by session."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from opensearchpy import AsyncOpenSearch, OpenSearch
from raw_side import Raw, Said, decoded

from sapwood.model import Message

_INDEX = "raw-message"
_FIELDS = {
    "session": {"type": "keyword"},
    "depth": {"type": "long"},
    "id": {"type": "keyword"},
    "role": {"type": "keyword"},
    "tokens": {"type": "long"},
    "body": {"type": "binary"},
}
_MADE = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {"dynamic": "strict", "properties": _FIELDS},
}
_BLOCK = 500
_PAGE = 10_000


def _document(session: str, depth: int, said: Said) -> dict[str, Any]:
    return {
        "session": session,
        "depth": depth,
        "id": said.id,
        "role": said.role,
        "tokens": said.tokens,
        "body": base64.b64encode(said.body).decode(),
    }


class RawOpenSearch(Raw):
    """One document, created, for a message."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = OpenSearch(url)
        if not self._client.indices.exists(index=_INDEX):
            self._client.indices.create(index=_INDEX, body=_MADE)

    def insert(self, session: str, depth: int, said: Said) -> None:
        self._client.create(
            index=_INDEX,
            id=f"{session}/{depth}",
            body=_document(session, depth, said),
            params={"routing": session},
        )

    def fill(self, session: str, said: Sequence[Said]) -> None:
        for begin in range(0, len(said), _BLOCK):
            lines: list[dict[str, Any]] = []
            for depth, it in enumerate(said[begin : begin + _BLOCK], begin + 1):
                lines.append({"create": {"_id": f"{session}/{depth}", "routing": session}})
                lines.append(_document(session, depth, it))
            self._client.bulk(body=lines, index=_INDEX)
        self._client.indices.refresh(index=_INDEX)

    def range(self, session: str, first: int, last: int) -> list[Message]:
        depths = {"range": {"depth": {"gte": first, "lte": last}}}
        query = {"bool": {"filter": [{"term": {"session": session}}, depths]}}
        body = {"query": query, "sort": [{"depth": "asc"}], "size": _PAGE}
        answer = self._client.search(index=_INDEX, body=body, params={"routing": session})
        return [_message(session, it["_source"]) for it in answer["hits"]["hits"]]

    def close(self) -> None:
        self._client.close()

    async def open_pool(self, size: int) -> None:
        self._async_client = AsyncOpenSearch(self._url, pool_maxsize=size)

    async def insert_async(self, session: str, depth: int, said: Said) -> None:
        await self._async_client.create(
            index=_INDEX,
            id=f"{session}/{depth}",
            body=_document(session, depth, said),
            params={"routing": session},
        )

    async def close_pool(self) -> None:
        await self._async_client.close()


def _message(session: str, it: dict[str, Any]) -> Message:
    body = base64.b64decode(it["body"])
    return decoded(session, it["depth"], it["id"], it["role"], it["tokens"], body)
