"""OpenSearch as the record log sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....errors import (
    MigrationNeededError,
    SchemaTooNewError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from ....model import Health
from ...recordlog._async.driver import AsyncServerDriver
from ...recordlog.log_documents import LogDocument, LogKey, LogKind, key_of, record_key
from ...recordlog.record_sender import CreateOutcome
from ...searched._async.index import AsyncSearchIndex
from ..failure import WHERE, is_gone, refusal
from ..records import (
    NAMES,
    VERSION,
    blanked,
    from_document,
    in_range,
    mapping_of,
    named,
    to_document,
)
from ..search_documents import copies
from .index import expecting, token_of
from .wire import AsyncWire

MAX_DATA_BYTES = 32 * 1024 * 1024
"""A server takes requests of 100 MB, and a third is added on the way."""
WINDOWS = (8, 64, 256)
"""How many records are asked for by name at once, as long as all of them are there."""
PAGE = 1_000
AT_ONCE = 200
TRIES = 20


class AsyncOpenSearchDriver(AsyncServerDriver):
    """Three indices: records, entries and look-ups; all of a tree is on one shard of each."""

    max_data_bytes = MAX_DATA_BYTES

    def __init__(
        self,
        wire: AsyncWire,
        index: AsyncSearchIndex,
        *,
        new_id: Callable[[], str],
        prefix: str,
        refresh: bool,
        shards: int,
        replicas: int | None,
    ) -> None:
        super().__init__()
        self._wire = wire
        self._index = index
        self._new_id = new_id
        self._prefix = prefix
        self._refresh = "true" if refresh else "false"
        self._settings = {"number_of_shards": shards, **copies(replicas)}

    def _of(self, kind: LogKind) -> str:
        return f"{self._prefix}-{NAMES[kind]}"

    # commit

    async def _send(self, documents: Sequence[LogDocument]) -> Sequence[CreateOutcome]:
        """Create documents; return of each whether it is new, or why it was refused.

        The wire may send a request twice when an answer is lost: what is there by then and was
        written by this call is new. Each has a mark of its own, since two may be of one name.
        """
        marks = [self._new_id() for _ in documents]
        lines = [
            self._line("create", key_of(it), to_document(it, by))
            for it, by in zip(documents, marks, strict=True)
        ]
        answers = await self._wire.bulk(lines, refresh=self._refresh, require_alias="true")
        taken = [
            key_of(document)
            for document, answer in zip(documents, answers, strict=True)
            if answer["status"] == 409
        ]
        found = await self._find(taken) if taken else {}
        by = {id: it["_source"]["by"] for id, it in found.items()}
        return [
            _refused(answer) or by.get(document.id, mark) == mark
            for document, mark, answer in zip(documents, marks, answers, strict=True)
        ]

    def _line(self, action: str, key: LogKey, document: Any = None, **expecting: int) -> list[Any]:
        line = {action: {**named(key, self._of(key.kind)), **expecting}}
        return [line] if document is None else [line, document]

    # by name

    async def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        found = await self._find(keys)
        return [from_document(found[key.id], key.kind) if key.id in found else None for key in keys]

    async def _find(self, keys: Sequence[LogKey]) -> dict[str, Any]:
        """Get documents as they are, whether searches see them or not."""
        found: dict[str, Any] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            asked = {"docs": [named(key, self._of(key.kind)) for key in some]}
            # A replica may lag behind what was seen on the primary: a record would be missed.
            answer = await self._wire.send("POST", "/_mget", asked, preference="_primary")
            for it in answer["docs"]:
                if is_gone(it):
                    raise refusal(404, "index_not_found_exception")
                if "error" in it:
                    raise refusal(503, str(it["error"].get("type")))
                if it["found"]:
                    found[it["_id"]] = it
        return found

    # by question

    async def newest_page(self, tree: str, log: str) -> LogDocument | None:
        """Find the newest page of a log that searches see."""
        asked = [{"term": {"log": log}}, {"term": {"page": True}}]
        found = await self._search(LogKind.RECORD, tree, asked, [{"n": "desc"}], 1)
        return found[0] if found else None

    async def following(self, tree: str, log: str, after: int) -> list[LogDocument]:
        """Return the records of a log after a number: by name, to the first miss."""
        found: list[LogDocument] = []
        for window in WINDOWS:
            start = after + len(found) + 1
            # One more than is given: what stands behind a miss shows that it is no end.
            keys = [record_key(tree, log, n) for n in range(start, start + window + 1)]
            got = await self.get(keys)
            end = next((n for n, it in enumerate(got[:window]) if it is None), window)
            found += filter(None, got[:end])
            if end < window:
                if any(got[end + 1 :]):
                    if await self.get([keys[end]]) == [None]:
                        raise StoreCorruptError(
                            f"record {keys[end].id} is missing from the store, and a later one is"
                            " there: it can only come back from a backup"
                        )
                    # It was created while it was asked for, one after the other.
                    found += await self.following(tree, log, after + len(found))
                return found
        return found

    async def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[LogDocument]:
        found: list[LogDocument] = []
        for start in range(0, len(ranges), AT_ONCE):
            some = [in_range(*it) for it in ranges[start : start + AT_ONCE]]
            # One range is in one log, whose records a number is enough to tell apart.
            order = [{"n": "asc"}] if len(some) == 1 else [{"log": "asc"}, {"n": "asc"}]
            asked = some if len(some) == 1 else [{"bool": {"should": some}}]
            most = sum(last - first + 1 for _, first, last in ranges[start : start + AT_ONCE])
            found += await self._search(LogKind.RECORD, tree, asked, order, most)
        return list({it.id: it for it in found}.values())

    async def entries(self, owner: str | None) -> list[LogDocument]:
        await self._wire.send("POST", f"/{self._of(LogKind.ENTRY)}/_refresh")
        asked = [] if owner is None else [{"term": {"owner": owner}}]
        return await self._search(LogKind.ENTRY, None, asked, [{"key": "asc"}], None)

    async def refresh(self) -> None:
        names = f"{self._of(LogKind.RECORD)},{self._of(LogKind.ENTRY)}"
        await self._wire.send("POST", f"/{names}/_refresh")

    async def _search(
        self,
        kind: LogKind,
        tree: str | None,
        asked: list[Any],
        order: list[dict[str, str]],
        limit: int | None,
    ) -> list[LogDocument]:
        found: list[LogDocument] = []
        body: dict[str, Any] = {"sort": order, "track_total_hits": False}
        options: dict[str, Any] = {"allow_partial_search_results": "false"}
        if tree is not None:
            asked = [{"term": {"tree": tree}}, *asked]
            options["routing"] = tree
        body["query"] = {"bool": {"filter": asked}}
        while limit is None or len(found) < limit:
            body["size"] = PAGE if limit is None else min(PAGE, limit - len(found))
            path = f"/{self._of(kind)}/_search"
            hits = (await self._wire.send("POST", path, body, **options))["hits"]["hits"]
            found += [from_document(hit, kind) for hit in hits]
            if len(hits) < body["size"]:
                break
            body["search_after"] = hits[-1]["sort"]
        return found

    # beside the records

    async def put(self, documents: Sequence[LogDocument]) -> None:
        new = {document.id: to_document(document, "") for document in documents}

        def change(found: Any) -> dict[str, Any] | None:
            return new[found["_id"]] if found["_source"]["data"] else None

        await self._rewrite([key_of(it) for it in documents], change)

    async def blank(self, keys: Sequence[LogKey]) -> None:
        await self._rewrite(keys, blanked)

    async def _rewrite(
        self, keys: Sequence[LogKey], change: Callable[[Any], dict[str, Any] | None]
    ) -> None:
        """Put other documents in the place of those that are there, and of no others."""
        left = {key.id: key for key in keys}
        for _ in range(TRIES):
            found = await self._find(list(left.values())) if left else {}
            lines = [
                self._line("index", left[id], changed, **expecting(token_of(it)))
                for id, it in found.items()
                if (changed := change(it)) is not None
            ]
            if not lines:
                return
            answers = await self._wire.bulk(lines, require_alias="true")
            _refuse_others(answers)
            left = {it["_id"]: left[it["_id"]] for it in answers if it["status"] == 409}
        raise StoreBusyError(f"{WHERE}: others rewrite the same records all the time: try again")

    async def delete(self, keys: Sequence[LogKey]) -> None:
        if keys:
            _refuse_others(await self._wire.bulk([self._line("delete", key) for key in keys]))

    # the database as a whole

    async def _server_time(self) -> int:
        path = "/_nodes/_local/stats/process"
        answer = await self._wire.send("GET", path, filter_path="nodes.*.timestamp")
        [node] = answer["nodes"].values()
        return int(node["timestamp"]) * 1_000

    async def health(self) -> Health:
        info = await self._wire.send("GET", "/")
        path = f"/{self._of(LogKind.RECORD)}/_settings/index.blocks.*"
        found = await self._wire.send("GET", path, flat_settings="true")
        blocks = [value for it in found.values() for value in it["settings"].values()]
        return Health(
            store="opensearch",
            version=info["version"]["number"],
            writable="true" not in blocks,
        )

    async def schema_version(self) -> int:
        """Return the lowest version of the indices; 0 when one is not there."""
        return min([await self._version_of(kind) for kind in LogKind])

    async def _version_of(self, kind: LogKind) -> int:
        return max((await self._wire.versions(self._of(kind))).values(), default=0)

    async def make_ready(self, *, may_migrate: bool) -> None:
        """Look at the versions of the indices, and make those that are missing."""
        where = f"the indices {self._prefix}-*"
        for kind in LogKind:
            version = await self._version_of(kind)
            if version > VERSION:
                raise SchemaTooNewError(
                    f"{where} are of version {version}, which this sapwood does not know: update it"
                )
            if version == 0 and not may_migrate:
                raise MigrationNeededError(f"{where} are not set up: call admin.migrate()")
            if version == 0:
                await self._wire.create_index(
                    self._of(kind), VERSION, self._settings, mapping_of(kind)
                )
        await self._wire.wait_for([self._of(kind) for kind in LogKind])
        if may_migrate:
            await self._index.make_ready()

    async def aclose(self) -> None:
        """Do nothing: the wire is the index's, too, and is closed with that."""


def _refuse_others(answers: Sequence[Any]) -> None:
    """Refuse what is neither done, nor done before; whether the rest was done is then in doubt."""
    for answer in answers:
        error = _refused(answer)
        if error is None:
            continue
        if isinstance(error, MigrationNeededError) or len(answers) == 1:
            raise error
        raise StoreUnavailableError(str(error))


def _refused(answer: Any) -> StoreError | None:
    status = answer["status"]
    if status < 300 or status == 409 or (status == 404 and "error" not in answer):
        return None
    error = refusal(status, str((answer.get("error") or {}).get("type")))
    # Of a server that failed it is not known whether it was done.
    return StoreUnavailableError(str(error)) if status >= 500 else error
