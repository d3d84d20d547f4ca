"""A search index in OpenSearch, and the requests that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from opensearchpy import AsyncOpenSearch

from ....errors import SchemaTooNewError, StoreBusyError
from ....model import Overlay
from ...base.refusals import url_or_client
from ...searched._async.index import AsyncSearchIndex
from ...searched.entry import (
    CandidateOrder,
    EntryFilter,
    FeedMark,
    IndexedSummaries,
    IndexEntry,
    IndexGoneError,
    SearchCandidate,
    SearchQuestion,
    digest_of,
    hashed,
)
from ..address import PREFIX, check_prefix, read_address, read_options
from ..failure import is_gone, refusal
from ..search_documents import (
    MAPPING,
    VERSION,
    candidate_of,
    clauses_of,
    entry_document,
    settings,
    summaries_document,
)
from .wire import AsyncWire

PAGE = 500
BY_KEY = [{"key": "asc"}]
TRIES = 20
NEWEST = [{"created": "desc"}, {"key": "desc"}]


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
            raise url_or_client()
        options = None if url is None else read_address(url)[0]
        self._wire = wire or AsyncWire(options, client)
        self._name = f"{check_prefix(prefix)}-search"
        self._ask = AsyncIndexRequests(self._wire, self._name, refresh)
        self._settings = settings(shards, replicas)
        self._is_ready = False

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Make one from a URL; `prefix`, `refresh`, `shards` and `replicas` are ours."""
        return cls(**read_options(url, refresh="true"))

    # marks

    async def find_mark(self, owner: str) -> FeedMark | None:
        if not self._is_ready:
            await self.make_ready()
        answer = await self._ask.get(owner, _mark_id(owner))
        if is_gone(answer):
            await self.make_ready()
            return None
        if not answer["found"]:
            return None
        return FeedMark(cursor=answer["_source"]["cursor"], token=token_of(answer))

    async def put_mark(self, owner: str, cursor: str, known: FeedMark | None) -> bool:
        document = {"kind": "mark", "owner": owner, "cursor": cursor}
        token = None if known is None else known.token
        # Nobody searches for it.
        return await self._ask.replace(owner, _mark_id(owner), document, token, refresh="false")

    # messages

    async def put(self, owner: str, entries: Sequence[IndexEntry]) -> None:
        left = await self._create(owner, {entry.key: entry for entry in entries})
        for _ in range(TRIES):
            if not left:
                return
            left = await self._replace(owner, left)
        raise StoreBusyError("OpenSearch: others index the same messages all the time: try again")

    async def _create(self, owner: str, entries: dict[str, IndexEntry]) -> dict[str, IndexEntry]:
        """Index messages that are not there, as nearly all are; return the others."""
        lines = [[{"create": {"_id": key}}, entry_document(it)] for key, it in entries.items()]
        if not lines:
            return {}
        answers = await self._ask.bulk(owner, lines)
        return {it["_id"]: entries[it["_id"]] for it in answers if it["status"] == 409}

    async def _replace(self, owner: str, entries: dict[str, IndexEntry]) -> dict[str, IndexEntry]:
        """Index messages as far as nobody else does at the same time; return the rest."""
        known = await self._ask.get_many(owner, list(entries), "version")
        gone = {key: it for key, it in entries.items() if key not in known}
        lines = [
            [{"index": {"_id": key, **expecting(token_of(have))}}, entry_document(entries[key])]
            for key, have in known.items()
            if have["_source"]["version"] < entries[key].version
        ]
        if not lines:
            # Another may have put them just now, and not made them searchable yet.
            await self._ask.make_searchable()
        answers = await self._ask.bulk(owner, lines) if lines else []
        lost = [it["_id"] for it in answers if it["status"] == 409]
        return await self._create(owner, gone) | {key: entries[key] for key in lost}

    async def remove(self, owner: str, keys: Sequence[str]) -> None:
        if keys:
            await self._ask.bulk(owner, [[{"delete": {"_id": key}}] for key in keys])

    # summaries

    async def find_summaries(
        self, owner: str, sessions: Sequence[str]
    ) -> dict[str, IndexedSummaries]:
        ids = {_summaries_id(owner, session): session for session in sessions}
        found = await self._ask.get_many(owner, list(ids), "digest") if ids else {}
        return {
            ids[id]: IndexedSummaries(digest=it["_source"]["digest"], token=token_of(it))
            for id, it in found.items()
        }

    async def put_summaries(
        self, owner: str, session: str, overlays: Sequence[Overlay], known: IndexedSummaries | None
    ) -> bool:
        id = _summaries_id(owner, session)
        token = None if known is None else known.token
        if overlays:
            document = summaries_document(owner, session, id, overlays, digest_of(overlays))
            return await self._ask.replace(owner, id, document, token)
        if token is None:
            return True
        [answer] = await self._ask.bulk(owner, [[{"delete": {"_id": id, **expecting(token)}}]])
        return bool(answer["status"] != 409)

    # what is there

    async def search(
        self, owner: str, question: SearchQuestion, size: int, below: CandidateOrder | None
    ) -> list[SearchCandidate]:
        after = None if below is None else list(below)
        return await self._ask.list_some(owner, clauses_of(owner, question), NEWEST, size, after)

    async def sessions_with(self, owner: str, overlays: Sequence[str]) -> list[str]:
        shared = {"terms": {"overlays": list(overlays)}}
        wanted: list[dict[str, Any]] = [{"term": {"kind": "summaries"}}, shared]
        return [it.session for it in await self._ask.list_all(owner, wanted)]

    async def list_page(
        self, owner: str, which: EntryFilter, after: SearchCandidate | None
    ) -> list[SearchCandidate]:
        wanted: list[dict[str, Any]] = [{"term": {"owner": owner}}, {"term": {"kind": "message"}}]
        if which.sessions is not None:
            wanted.append({"terms": {"session": list(which.sessions)}})
        if which.ids is not None:
            wanted.append({"terms": {"id": list(which.ids)}})
        if after is None:
            await self._ask.make_searchable()
        place = None if after is None else after.order
        return await self._ask.list_some(owner, wanted, BY_KEY, PAGE, place)

    async def list_summarised(self, owner: str) -> list[str]:
        wanted = {"term": {"kind": "summaries"}}
        return [it.session for it in await self._ask.list_all(owner, [wanted])]

    async def list_owners(self) -> list[str]:
        found: list[str] = []
        sources = [{"owner": {"terms": {"field": "owner"}}}]
        pages: dict[str, Any] = {"size": PAGE, "sources": sources}
        await self._ask.make_searchable()
        while True:
            body = {"size": 0, "aggs": {"owners": {"composite": pages}}}
            answer = await self._ask.search(body)
            page = answer["aggregations"]["owners"]
            found += [bucket["key"]["owner"] for bucket in page["buckets"]]
            if "after_key" not in page:
                return found
            pages["after"] = page["after_key"]

    async def erase(self, owner: str) -> None:
        for _ in range(TRIES):
            if await self._ask.delete_all(owner):
                return
        raise StoreBusyError("OpenSearch: others index what is erased all the time: try again")

    # the index itself

    async def make_ready(self) -> None:
        """Make the index where it is not there; an older one is made anew."""
        for name, version in (await self._wire.versions(self._name)).items():
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
        await self._wire.wait_for([self._name])
        self._is_ready = True

    async def aclose(self) -> None:
        """Close the client, unless it is somebody else's."""
        await self._wire.aclose()


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
        after: list[Any] | None,
    ) -> list[SearchCandidate]:
        """Return a page of candidates."""
        body: dict[str, Any] = {
            "query": {"bool": {"filter": wanted}},
            "sort": order,
            "size": size,
            "track_total_hits": False,
        }
        if after is not None:
            body["search_after"] = after
        answer = await self.search(body, routing=_route(owner))
        return [candidate_of(hit) for hit in answer["hits"]["hits"]]

    async def list_all(self, owner: str, wanted: list[dict[str, Any]]) -> list[SearchCandidate]:
        """Return all candidates of an owner."""
        found: list[SearchCandidate] = []
        after = None
        clauses = [{"term": {"owner": owner}}, *wanted]
        while page := await self.list_some(owner, clauses, BY_KEY, PAGE, after):
            found += page
            after = page[-1].order
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


def _mark_id(owner: str) -> str:
    return f"mark-{hashed(owner)}"


def _summaries_id(owner: str, session: str) -> str:
    return f"summaries-{hashed(owner, session)}"
