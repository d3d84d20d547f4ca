"""MongoDB as the record log sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC
from typing import Any

from pymongo import AsyncMongoClient, ReplaceOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, PyMongoError, WriteError
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from ....errors import (
    MigrationNeededError,
    SchemaTooNewError,
    StoreUnavailableError,
)
from ....model import Health, microseconds_of
from ...base.refusals import other_loop
from ...recordlog._async.driver import AsyncServerDriver
from ...recordlog.log_documents import LogDocument, LogKey, LogKind, key_of
from ...recordlog.record_sender import CreateOutcome
from ..documents import BLANK, by_kind, from_mongo, range_filter, to_mongo
from ..failure import translate

SCHEMA_VERSION = 1
MAX_DATA_BYTES = 15 * 1024 * 1024
"""MongoDB takes 16 MiB for a whole document."""
DUPLICATE = 11000
BATCH = 10_000
"""A history comes with one answer, as far as that may have 16 MB; by itself it would with two."""
FEW = 8
"""FerretDB looks at every document for a list of names, and not for one: ask for a few singly."""
WHERE = "MongoDB"
_NAMES = {LogKind.RECORD: "records", LogKind.ENTRY: "entries", LogKind.LOOKUP: "lookups"}


class AsyncMongoDriver(AsyncServerDriver):
    """Three collections of a database, and one that says which version they are of."""

    max_data_bytes = MAX_DATA_BYTES

    def __init__(
        self, client: AsyncMongoClient[Any], *, owns_client: bool, database: str, prefix: str
    ) -> None:
        super().__init__()
        self._client = client
        self._owns_client = owns_client
        # A commit is one that a majority has on disk: it outlives the loss of a server.
        self._database = client.get_database(
            database,
            write_concern=WriteConcern(w="majority", j=True),
            read_preference=ReadPreference.PRIMARY,
        )
        self._prefix = prefix
        # Each is made once: the driver takes longer for that than for encoding a message.
        self._collections = {
            kind: self._database[f"{prefix}{name}"] for kind, name in _NAMES.items()
        }
        self._is_sharded = False
        self._is_ferret = False

    @asynccontextmanager
    async def _told(self) -> AsyncIterator[None]:
        try:
            yield
        except PyMongoError as error:
            raise translate(error, WHERE, self.max_data_bytes) from error
        except RuntimeError as error:
            if "event loop" not in str(error):
                raise
            raise other_loop(WHERE) from error

    # commit

    async def _send(self, documents: Sequence[LogDocument]) -> Sequence[CreateOutcome]:
        """Create documents of one kind; return of each whether it is new, or why it was refused."""
        [kind] = {document.kind for document in documents}
        collection = self._collections[kind]
        async with self._told():
            if len(documents) == 1:
                try:
                    await collection.insert_one(to_mongo(documents[0]))
                except DuplicateKeyError:
                    return [False]
                return [True]
            try:
                await collection.insert_many([to_mongo(it) for it in documents], ordered=False)
            except BulkWriteError as error:
                told = _outcomes(error)
                return [told.get(index, True) for index in range(len(documents))]
            return [True] * len(documents)

    # by name

    async def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        found: dict[tuple[LogKind, str], LogDocument] = {}
        async with self._told():
            for kind, named in by_kind(keys):
                for document in await self._find_all(kind, named):
                    found[kind, document["_id"]] = from_mongo(document, kind)
        return [found.get((key.kind, key.id)) for key in keys]

    async def _find_all(self, kind: LogKind, keys: Sequence[LogKey]) -> list[dict[str, Any]]:
        collection = self._collections[kind]
        if len(keys) > (FEW if self._is_ferret else 1):
            found: list[dict[str, Any]] = await collection.find(self._named(keys)).to_list(None)
            return found
        each = [await collection.find_one(self._named([key])) for key in keys]
        return [document for document in each if document is not None]

    def _named(self, keys: Sequence[LogKey]) -> dict[str, Any]:
        """Ask by name; where there are shards, also for those alone that have it."""
        ids = [key.id for key in keys]
        asked: dict[str, Any] = {"_id": ids[0] if len(ids) == 1 else {"$in": ids}}
        if self._is_sharded:
            asked["tree"] = {"$in": sorted({key.shard for key in keys})}
        return asked

    # by question

    def _log_after(self, tree: str, log: str, after: int) -> dict[str, Any]:
        start = f"{tree}/{log}/"
        return {"tree": tree, "_id": {"$gt": f"{start}{after:012d}", "$lt": f"{start}~"}}

    async def newest_page(self, tree: str, log: str) -> LogDocument | None:
        """Find the newest page of a log, from its end."""
        asked = {**self._log_after(tree, log, -1), "page": True}
        async with self._told():
            cursor = self._collections[LogKind.RECORD].find(asked).sort("_id", -1).limit(1)
            found = await cursor.to_list(None)
        return from_mongo(found[0], LogKind.RECORD) if found else None

    async def following(self, tree: str, log: str, after: int) -> list[LogDocument]:
        asked = self._log_after(tree, log, after)
        async with self._told():
            cursor = self._collections[LogKind.RECORD].find(asked).sort("_id", 1).limit(500)
            return [from_mongo(it, LogKind.RECORD) for it in await cursor.to_list(None)]

    async def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[LogDocument]:
        each = [range_filter(*it) for it in ranges]
        asked = {"tree": tree, **(each[0] if len(each) == 1 else {"$or": each})}
        async with self._told():
            found = (
                await self._collections[LogKind.RECORD].find(asked, batch_size=BATCH).to_list(None)
            )
        return [from_mongo(it, LogKind.RECORD) for it in found]

    async def entries(self, owner: str | None) -> list[LogDocument]:
        asked = {} if owner is None else {"owner": owner}
        async with self._told():
            found = await self._collections[LogKind.ENTRY].find(asked).to_list(None)
        return [from_mongo(it, LogKind.ENTRY) for it in found]

    async def refresh(self) -> None:
        """Do nothing: the primary is asked, which sees all."""

    # beside the records

    async def put(self, documents: Sequence[LogDocument]) -> None:
        async with self._told():
            for document in documents:
                asked = self._named([key_of(document)]) | {"data": {"$ne": b""}}
                await self._collections[document.kind].bulk_write(
                    [ReplaceOne(asked, to_mongo(document))]
                )

    async def blank(self, keys: Sequence[LogKey]) -> None:
        async with self._told():
            for kind, named in by_kind(keys):
                await self._collections[kind].update_many(self._named(named), {"$set": BLANK})

    async def delete(self, keys: Sequence[LogKey]) -> None:
        async with self._told():
            for kind, named in by_kind(keys):
                await self._collections[kind].delete_many(self._named(named))

    # the database as a whole

    async def _server_time(self) -> int:
        moment = (await self._hello())["localTime"]
        # The answer to a command has no time zone, whatever the client was told: it is UTC.
        return microseconds_of(moment.replace(tzinfo=UTC))

    async def _hello(self) -> dict[str, Any]:
        async with self._told():
            hello: dict[str, Any] = await self._client.admin.command("hello")
            return hello

    async def health(self) -> Health:
        hello = await self._hello()
        async with self._told():
            info = await self._client.server_info()
        writable = bool(hello.get("isWritablePrimary")) and not hello.get("readOnly")
        return Health(store="mongodb", version=str(info["version"]), writable=writable)

    async def schema_version(self) -> int:
        """Return the newest step that was taken."""
        async with self._told():
            steps = await self._database[f"{self._prefix}schema"].find({}).to_list(None)
        return max((step["_id"] for step in steps), default=0)

    async def make_ready(self, *, may_migrate: bool) -> None:
        """Look at the schema, and set up what is missing."""
        self._is_sharded = (await self._hello()).get("msg") == "isdbgrid"
        async with self._told():
            self._is_ferret = "ferretdbVersion" in await self._client.server_info()
        version = await self.schema_version()
        where = f"the collections {self._prefix}* of database {self._database.name!r}"
        if version > SCHEMA_VERSION:
            raise SchemaTooNewError(
                f"{where} are of version {version}, which this sapwood does not know: upgrade it"
            )
        if version == SCHEMA_VERSION:
            return
        if not may_migrate:
            raise MigrationNeededError(f"{where} are not set up: call admin.migrate()")
        await self._set_up()

    async def _set_up(self) -> None:
        """Make the indexes, then take note of it; who does it again changes nothing."""
        async with self._told():
            records = [("tree", 1), ("segment", 1), ("last", 1)]
            await self._collections[LogKind.RECORD].create_index(records, name="segment")
            await self._collections[LogKind.ENTRY].create_index([("owner", 1)], name="owner")
            with suppress(DuplicateKeyError):
                await self._database[f"{self._prefix}schema"].insert_one({"_id": SCHEMA_VERSION})

    async def aclose(self) -> None:
        """Close the client, unless it is somebody else's."""
        if self._owns_client:
            await self._client.aclose()


def _outcomes(error: BulkWriteError) -> dict[int, CreateOutcome]:
    """Return which documents were there already, or were refused; each answers for itself."""
    if error.details.get("writeConcernErrors"):
        what = "the write was not replicated in time"
        raise StoreUnavailableError(f"{WHERE}: {what}: try again") from error
    return {it["index"]: _outcome(it) for it in error.details.get("writeErrors", [])}


def _outcome(item: dict[str, Any]) -> CreateOutcome:
    if item.get("code") == DUPLICATE:
        return False
    error = WriteError(str(item.get("errmsg")), item.get("code"), item)
    return translate(error, WHERE, MAX_DATA_BYTES)
