"""The record log's driver for dictionaries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ..._version import __version__
from ...model import Health
from ..recordlog._sync.driver import LogDriver
from ..recordlog.log_documents import LogDocument, LogKey, LogKind, record_key
from ..recordlog.rows import RowCache
from .shelf import Shelf

SCHEMA_VERSION = 1


class MemoryDriver(LogDriver):
    """A shelf of documents that lasts as long as this object; for one caller at a time."""

    max_data_bytes = max_messages = sys.maxsize
    rows: RowCache

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.replace(Shelf())

    def replace(self, shelf: Shelf) -> None:
        """Hold what is on another shelf."""
        self.shelf = shelf
        self.rows = RowCache()

    def is_taken_back(self, log: str, n: int) -> bool:
        return any(n in numbers for numbers in self.shelf.taken_back.get(log, ()))

    def count_forgotten(self, shard: str) -> int:
        return self.shelf.forgotten.get(shard, 0)

    def create(self, document: LogDocument) -> bool:
        return self.shelf.add(document)

    def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        return [self.shelf.find(key.id) for key in keys]

    def newest_page(self, tree: str, log: str) -> LogDocument | None:
        return self.shelf.documents.get(self.shelf.pages.get(log, ""))

    def following(self, tree: str, log: str, after: int) -> list[LogDocument]:
        first = self.shelf.find(record_key(tree, log, after + 1).id)
        found = [] if first is None else [first]
        # To the first that is empty: behind it the log may go on with another number.
        while stored := self.shelf.documents.get(record_key(tree, log, after + len(found) + 1).id):
            found.append(stored)
        return found

    def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[LogDocument]:
        return [stored for span in ranges for stored in self.shelf.records(*span)]

    def entries(self, owner: str | None) -> list[LogDocument]:
        shelf = self.shelf
        owners = shelf.entries if owner is None else [owner]
        ids = (id for it in owners for id in shelf.entries.get(it, ()))
        return [shelf.documents[id] for id in ids if id in shelf.documents]

    def refresh(self) -> None:
        self.shelf.index_anew()

    def create_all(self, documents: Sequence[LogDocument]) -> None:
        for document in documents:
            self.shelf.add(document)

    def put(self, documents: Sequence[LogDocument]) -> None:
        for document in documents:
            found = self.shelf.documents.get(document.id)
            if found is not None and found.data:
                self._forget(found)
                self.shelf.documents[document.id] = document

    def blank(self, keys: Sequence[LogKey]) -> None:
        for key in keys:
            found = self.shelf.documents.get(key.id)
            if found is not None and key.kind is LogKind.ENTRY:
                self.shelf.documents[key.id] = replace(found, data=b"", owner="")
        # Of records only the names are kept.
        self.delete([key for key in keys if key.kind is not LogKind.ENTRY])

    def delete(self, keys: Sequence[LogKey]) -> None:
        for key in keys:
            self._forget(self.shelf.documents.get(key.id))
        self.shelf.drop(key.id for key in keys)

    def _forget(self, document: LogDocument | None) -> None:
        if document is not None and document.segment:
            self.rows.forget(document.segment, document.first, document.last)

    def now(self) -> int:
        return self._clock()

    def health(self) -> Health:
        return Health(store="memory", version=__version__, writable=True)

    def make_ready(self, *, may_migrate: bool) -> None:
        """Do nothing: dictionaries are ready."""

    def schema_version(self) -> int:
        return SCHEMA_VERSION

    def close(self) -> None:
        """Let go of all that was held."""
        self.replace(Shelf())
