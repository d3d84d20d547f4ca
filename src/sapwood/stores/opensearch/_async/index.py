"""A search index in OpenSearch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from opensearchpy import AsyncOpenSearch

from ....errors import SchemaTooNewError, StoreBusyError, UsageError
from ....model import Overlay
from ...searched._async.index import AsyncSearchIndex
from ...searched.entry import (
    Candidate,
    Entry,
    IndexGoneError,
    Mark,
    Question,
    Summarised,
    Which,
    digest_of,
    hashed,
)
from ..address import PREFIX, check_prefix, flag, read_address, whole
from ..asking import clauses_of
from ..documents import candidate_of, entry_document, summaries_document
from ..failure import is_gone, refusal
from ..mapping import MAPPING, VERSION, settings
from .wire import AsyncWire

PARAMETERS = {"prefix", "refresh", "shards", "replicas"}
TRIES = 20
PAGE = 500
NEWEST = [{"created": "desc"}, {"key": "desc"}]
BY_KEY = [{"key": "asc"}]


class AsyncOpenSearchIndex(AsyncSearchIndex):
    """The words of messages and summaries, in one index; an owner's are on one shard.

    Takes a URL or a client, which stays its giver's to close. `refresh=False` does not wait until
    what was written can be searched: that then takes a second.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        client: AsyncOpenSearch | None = None,
        wire: AsyncWire | None = None,
        prefix: str = PREFIX,
        refresh: bool = True,
        shards: int = 1,
        replicas: int | None = None,
    ) -> None:
        if wire is None and (url is None) == (client is None):
            raise UsageError("give a URL or a client", path="url")
        options = None if url is None else read_address(url, frozenset()).client
        self._wire = wire or AsyncWire(options, client)
        self._name = f"{check_prefix(prefix)}-search"
        self._refresh = "true" if refresh else "false"
        self._settings = settings(shards, replicas)
        self._is_ready = False

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Make one from a URL; `prefix`, `refresh`, `shards` and `replicas` are ours."""
        given = read_address(url, PARAMETERS).parameters
        return cls(
            url.partition("?")[0],
            prefix=given.get("prefix", PREFIX),
            refresh=flag(given.get("refresh", "true"), "refresh"),
            shards=whole(given.get("shards", "1"), "shards", 1, 1_000),
            replicas=whole(given["replicas"], "replicas", 0, 10) if "replicas" in given else None,
        )

    # marks

    async def find_mark(self, owner: str) -> Mark | None:
        """Find how far an owner's feed was followed; make the index if it is not there."""
        if not self._is_ready:
            await self.prepare()
        answer = await self._get(owner, _mark_id(owner))
        if is_gone(answer):
            await self.prepare()
            return None
        if not answer["found"]:
            return None
        return Mark(cursor=answer["_source"]["cursor"], token=_token(answer))

    async def put_mark(self, owner: str, cursor: str, known: Mark | None) -> bool:
        """Put a mark in place of the known one; tell whether that was still there."""
        document = {"kind": "mark", "owner": owner, "cursor": cursor}
        token = None if known is None else known.token
        # Nobody searches for it.
        return await self._replace(owner, _mark_id(owner), document, token, refresh="false")

    # messages

    async def put(self, owner: str, entries: Sequence[Entry]) -> None:
        """Index messages; one that is there in a later version stays."""
        left = {entry.key: entry for entry in entries}
        for _ in range(TRIES):
            if not left:
                return
            left = await self._put(owner, left)
        raise StoreBusyError("OpenSearch: others index the same messages all the time: try again")

    async def _put(self, owner: str, entries: dict[str, Entry]) -> dict[str, Entry]:
        """Index messages as far as nobody else does at the same time; give the rest."""
        known = await self._get_many(owner, list(entries), "version")
        lines: list[list[Any]] = []
        for key, entry in entries.items():
            have = known.get(key)
            if have is None:
                lines.append([{"create": {"_id": key}}, entry_document(entry)])
            elif have["_source"]["version"] < entry.version:
                action = {"index": {"_id": key, **_expecting(_token(have))}}
                lines.append([action, entry_document(entry)])
        if not lines:
            # Another may have put them just now, and not made them searchable yet.
            await self._make_searchable()
            return {}
        answers = await self._bulk(owner, lines)
        lost = [answer["_id"] for answer in answers if answer["status"] == 409]
        return {key: entries[key] for key in lost}

    async def remove(self, owner: str, keys: Sequence[str]) -> None:
        """Remove entries by their keys."""
        if keys:
            await self._bulk(owner, [[{"delete": {"_id": key}}] for key in keys])

    # summaries

    async def find_summaries(self, owner: str, sessions: Sequence[str]) -> dict[str, Summarised]:
        """Find what is indexed of the summaries of sessions."""
        ids = {_summaries_id(owner, session): session for session in sessions}
        found = await self._get_many(owner, list(ids), "digest") if ids else {}
        return {
            ids[id]: Summarised(digest=it["_source"]["digest"], token=_token(it))
            for id, it in found.items()
        }

    async def put_summaries(
        self, owner: str, session: str, overlays: Sequence[Overlay], known: Summarised | None
    ) -> bool:
        """Put a session's summaries in place of the known ones; tell whether those were there."""
        id = _summaries_id(owner, session)
        token = None if known is None else known.token
        if overlays:
            document = summaries_document(owner, session, id, overlays, digest_of(overlays))
            return await self._replace(owner, id, document, token)
        if token is None:
            return True
        [answer] = await self._bulk(owner, [[{"delete": {"_id": id, **_expecting(token)}}]])
        return bool(answer["status"] != 409)

    # what is there

    async def search(
        self, owner: str, question: Question, size: int, after: Candidate | None
    ) -> list[Candidate]:
        """Give candidates, the newest first."""
        return await self._list(owner, clauses_of(owner, question), NEWEST, size, after)

    async def sessions_with(self, owner: str, overlays: Sequence[str]) -> list[str]:
        """Give the sessions among whose summaries are those of these overlays."""
        wanted: list[dict[str, Any]] = [{"term": {"kind": "summaries"}}]
        wanted.append({"terms": {"overlays": list(overlays)}})
        return [it.session for it in await self._list_all(owner, wanted)]

    async def list_page(self, owner: str, which: Which, after: Candidate | None) -> list[Candidate]:
        """List entries of messages, a page at a time."""
        wanted: list[dict[str, Any]] = [{"term": {"owner": owner}}, {"term": {"kind": "message"}}]
        if which.sessions is not None:
            wanted.append({"terms": {"session": list(which.sessions)}})
        if which.ids is not None:
            wanted.append({"terms": {"id": list(which.ids)}})
        if after is None:
            await self._make_searchable()
        return await self._list(owner, wanted, BY_KEY, PAGE, after)

    async def list_summarised(self, owner: str) -> list[str]:
        """List the sessions whose summaries are indexed."""
        wanted = {"term": {"kind": "summaries"}}
        return [it.session for it in await self._list_all(owner, [wanted])]

    async def list_owners(self) -> list[str]:
        """List the owners of whom anything is indexed."""
        found: list[str] = []
        sources = [{"owner": {"terms": {"field": "owner"}}}]
        pages: dict[str, Any] = {"size": PAGE, "sources": sources}
        await self._make_searchable()
        while True:
            body = {"size": 0, "aggs": {"owners": {"composite": pages}}}
            answer = await self._search(body)
            page = answer["aggregations"]["owners"]
            found += [bucket["key"]["owner"] for bucket in page["buckets"]]
            if "after_key" not in page:
                return found
            pages["after"] = page["after_key"]

    async def erase(self, owner: str) -> None:
        """Remove all that an owner has; the mark goes last, so that it can be done again."""
        await self._make_searchable()
        query = {"bool": {"filter": [{"term": {"owner": owner}}]}}
        path = f"/{self._name}/_delete_by_query"
        for _ in range(TRIES):
            answer = await self._send(
                "POST",
                path,
                {"query": query},
                routing=_route(owner),
                conflicts="proceed",
                refresh="true",
            )
            if not answer["version_conflicts"]:
                return
        raise StoreBusyError("OpenSearch: others index what is erased all the time: try again")

    # the index itself

    async def prepare(self) -> None:
        """Make the index where it is not there; an older one is made anew."""
        answer = await self._wire.send("GET", f"/{self._name}/_mapping", passing=(404,))
        for name, found in {} if is_gone(answer) else answer.items():
            version = found["mappings"].get("_meta", {}).get("sapwood", 0)
            if version > VERSION:
                raise SchemaTooNewError(
                    f"the search index {self._name} has version {version} and this sapwood knows "
                    f"{VERSION}: update it, or use another prefix"
                )
            if version == VERSION:
                return await self._wait()
            await self._wire.send("DELETE", f"/{name}", passing=(404,))
        await self._wire.create_index(self._name, VERSION, self._settings, MAPPING)
        await self._wait()

    async def _wait(self) -> None:
        """Wait for its shards, which another may have made just now."""
        path = f"/_cluster/health/{self._name}"
        await self._wire.send("GET", path, wait_for_status="yellow")
        self._is_ready = True

    async def aclose(self) -> None:
        """Close the client, unless it is somebody else's."""
        await self._wire.aclose()

    # requests

    async def _send(self, method: str, path: str, body: Any = None, **parameters: Any) -> Any:
        answer = await self._wire.send(method, path, body, passing=(404,), **parameters)
        if is_gone(answer):
            raise IndexGoneError(self._name)
        return answer

    async def _get(self, owner: str, id: str) -> Any:
        path = f"/{self._name}/_doc/{id}"
        return await self._wire.send("GET", path, passing=(404,), routing=_route(owner))

    async def _get_many(self, owner: str, ids: list[str], field: str) -> dict[str, Any]:
        """Get documents as they are, searchable or not."""
        answer = await self._send(
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

    async def _replace(
        self, owner: str, id: str, document: dict[str, Any], token: Any, **parameters: str
    ) -> bool:
        """Put a document in place of the one that the token names; without one, a new one."""
        action: dict[str, Any] = {"create": {"_id": id}}
        if token is not None:
            action = {"index": {"_id": id, **_expecting(token)}}
        [answer] = await self._bulk(owner, [[action, document]], **parameters)
        return bool(answer["status"] != 409)

    async def _bulk(self, owner: str, lines: Sequence[list[Any]], **parameters: str) -> list[Any]:
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

    async def _list(
        self,
        owner: str,
        wanted: list[dict[str, Any]],
        order: list[dict[str, str]],
        size: int,
        after: Candidate | None,
    ) -> list[Candidate]:
        body: dict[str, Any] = {
            "query": {"bool": {"filter": wanted}},
            "sort": order,
            "size": size,
            "track_total_hits": False,
        }
        if after is not None:
            body["search_after"] = after.order
        answer = await self._search(body, routing=_route(owner))
        return [candidate_of(hit) for hit in answer["hits"]["hits"]]

    async def _list_all(self, owner: str, wanted: list[dict[str, Any]]) -> list[Candidate]:
        found: list[Candidate] = []
        after = None
        clauses = [{"term": {"owner": owner}}, *wanted]
        while page := await self._list(owner, clauses, BY_KEY, PAGE, after):
            found += page
            after = page[-1]
        return found

    async def _search(self, body: dict[str, Any], **parameters: Any) -> Any:
        path = f"/{self._name}/_search"
        return await self._send(
            "POST", path, body, allow_partial_search_results="false", **parameters
        )

    async def _make_searchable(self) -> None:
        await self._send("POST", f"/{self._name}/_refresh")


def _route(owner: str) -> str:
    return hashed(owner)[:16]


def _mark_id(owner: str) -> str:
    return f"mark-{hashed(owner)}"


def _summaries_id(owner: str, session: str) -> str:
    return f"summaries-{hashed(owner, session)}"


def _token(found: Any) -> tuple[int, int]:
    return found["_seq_no"], found["_primary_term"]


def _expecting(token: tuple[int, int]) -> dict[str, Any]:
    return {"if_seq_no": token[0], "if_primary_term": token[1]}
