"""Requests about a search index: each is one owner's, and says when the index is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...searched.entry import IndexGoneError, SearchCandidate, hashed
from ..failure import is_gone, refusal
from ..search_documents import candidate_of
from .wire import AsyncWire

PAGE = 500
BY_KEY = [{"key": "asc"}]


class AsyncIndexRequests:
    """The requests about an index that is known by a name."""

    def __init__(self, wire: AsyncWire, name: str, refresh: bool) -> None:
        self._wire = wire
        self._name = name
        self._refresh = "true" if refresh else "false"

    async def send(self, method: str, path: str, body: Any = None, **parameters: Any) -> Any:
        """Send a request to an index that has to be there."""
        answer = await self._wire.send(method, path, body, passing=(404,), **parameters)
        if is_gone(answer):
            raise IndexGoneError(self._name)
        return answer

    async def get(self, owner: str, id: str) -> Any:
        """Get a document; an answer may also be that the index is not there."""
        path = f"/{self._name}/_doc/{id}"
        return await self._wire.send("GET", path, passing=(404,), routing=_route(owner))

    async def get_many(self, owner: str, ids: list[str], field: str) -> dict[str, Any]:
        """Get documents as they are, searchable or not."""
        answer = await self.send(
            "POST",
            f"/{self._name}/_mget",
            {"ids": ids},
            routing=_route(owner),
            _source_includes=field,
        )
        for it in answer["docs"]:
            if is_gone(it):
                raise IndexGoneError(self._name)
            if "error" in it:
                raise refusal(503, str(it["error"].get("type")))
        return {it["_id"]: it for it in answer["docs"] if it["found"]}

    async def replace(
        self, owner: str, id: str, document: dict[str, Any], token: Any, **parameters: str
    ) -> bool:
        """Put a document in place of the one that the token names; without one, a new one."""
        action: dict[str, Any] = {"create": {"_id": id}}
        if token is not None:
            action = {"index": {"_id": id, **expecting(token)}}
        [answer] = await self.bulk(owner, [[action, document]], **parameters)
        return bool(answer["status"] != 409)

    async def bulk(self, owner: str, lines: Sequence[list[Any]], **parameters: str) -> list[Any]:
        """Send many small writes; of what another changed, or is not there, the answers tell."""
        for action, *_ in lines:
            next(iter(action.values()))["_index"] = self._name
        options = {"refresh": self._refresh, "require_alias": "true", **parameters}
        answers = await self._wire.bulk(lines, routing=_route(owner), **options)
        for answer in answers:
            if is_gone(answer):
                raise IndexGoneError(self._name)
            if answer["status"] >= 300 and answer["status"] not in (404, 409):
                raise refusal(answer["status"], str(answer.get("error")))
        return answers

    async def list_some(
        self,
        owner: str,
        wanted: list[dict[str, Any]],
        order: list[dict[str, str]],
        size: int,
        after: SearchCandidate | None,
    ) -> list[SearchCandidate]:
        """Return a page of candidates."""
        body: dict[str, Any] = {
            "query": {"bool": {"filter": wanted}},
            "sort": order,
            "size": size,
            "track_total_hits": False,
        }
        if after is not None:
            body["search_after"] = after.order
        answer = await self.search(body, routing=_route(owner))
        return [candidate_of(hit) for hit in answer["hits"]["hits"]]

    async def list_all(self, owner: str, wanted: list[dict[str, Any]]) -> list[SearchCandidate]:
        """Return all candidates of an owner."""
        found: list[SearchCandidate] = []
        after = None
        clauses = [{"term": {"owner": owner}}, *wanted]
        while page := await self.list_some(owner, clauses, BY_KEY, PAGE, after):
            found += page
            after = page[-1]
        return found

    async def delete_all(self, owner: str) -> bool:
        """Delete all documents of an owner; return whether nobody changed any meanwhile."""
        await self.make_searchable()
        body = {"query": {"bool": {"filter": [{"term": {"owner": owner}}]}}}
        path = f"/{self._name}/_delete_by_query"
        options = {"conflicts": "proceed", "refresh": "true", "routing": _route(owner)}
        answer = await self.send("POST", path, body, **options)
        return not answer["version_conflicts"]

    async def search(self, body: dict[str, Any], **parameters: Any) -> Any:
        """Search; an answer from only some of the shards is none."""
        path = f"/{self._name}/_search"
        return await self.send(
            "POST", path, body, allow_partial_search_results="false", **parameters
        )

    async def make_searchable(self) -> None:
        """Let searches see all that was written."""
        await self.send("POST", f"/{self._name}/_refresh")


def _route(owner: str) -> str:
    return hashed(owner)[:16]


def token_of(found: Any) -> tuple[int, int]:
    """Return what a document is known by, until it changes."""
    return found["_seq_no"], found["_primary_term"]


def expecting(token: tuple[int, int]) -> dict[str, Any]:
    """Ask that a document is still the one that is known."""
    return {"if_seq_no": token[0], "if_primary_term": token[1]}
