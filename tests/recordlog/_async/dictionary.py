"""A database for the record log that is a dictionary: what it must offer, and nothing more.

Its questions may be behind, as those of a search engine are: they show what was there at the last
refresh. That comes by itself now and then, or when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sapwood.model import Health
from sapwood.stores.recordlog._async.driver import AsyncLogDriver
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey, LogKind, key_of, record_key


class AsyncDictionaryDriver(AsyncLogDriver):
    """Documents by name; `lag` is how many creations pass before questions see them."""

    max_data_bytes = 1 << 24

    def __init__(self, documents: dict[LogKey, LogDocument] | None = None, *, lag: int = 0) -> None:
        self.documents = {} if documents is None else documents
        self.shown: dict[LogKey, LogDocument] = dict(self.documents)
        self.lag = lag
        self.refreshes = 0
        self.calls: list[str] = []
        self._unseen = 0

    def _changed(self) -> None:
        self._unseen += 1
        if self._unseen > self.lag:
            self._show()

    def _show(self) -> None:
        self._unseen = 0
        self.shown = dict(self.documents)

    async def create(self, document: LogDocument) -> bool:
        self.calls.append("create")
        return self._create(document)

    def _create(self, document: LogDocument) -> bool:
        if key_of(document) in self.documents:
            return False
        self.documents[key_of(document)] = document
        self._changed()
        return True

    async def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        self.calls.append("get")
        return [self.documents.get(key) for key in keys]

    def _records(self, tree: str) -> list[LogDocument]:
        self.calls.append("question")
        every = list(self.shown.values())
        return [it for it in every if it.kind is LogKind.RECORD and it.shard == tree]

    async def newest_page(self, tree: str, log: str) -> LogDocument | None:
        pages = [it for it in self._records(tree) if it.log == log and it.is_page]
        return max(pages, key=lambda it: it.n, default=None)

    async def following(self, tree: str, log: str, after: int) -> list[LogDocument]:
        self.calls.append("get")
        keys = (record_key(tree, log, after + n) for n in range(1, 6))
        return [self.documents[key] for key in keys if key in self.documents]

    async def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[LogDocument]:
        return [
            it
            for it in self._records(tree)
            if any(
                it.segment == segment and it.last >= first and it.first <= last
                for segment, first, last in ranges
            )
        ]

    async def entries(self, owner: str | None) -> list[LogDocument]:
        every = list(self.documents.values())
        return [it for it in every if it.kind is LogKind.ENTRY and owner in (None, it.owner)]

    async def refresh(self) -> None:
        self.refreshes += 1
        self._show()

    async def create_all(self, documents: Sequence[LogDocument]) -> None:
        self.calls.append("create_all")
        for document in documents:
            self._create(document)

    async def put(self, documents: Sequence[LogDocument]) -> None:
        for document in documents:
            found = self.documents.get(key_of(document))
            if found is not None and found.data:
                self.documents[key_of(document)] = document
                self._changed()

    async def blank(self, keys: Sequence[LogKey]) -> None:
        for key in keys:
            found = self.documents.get(key)
            if found is not None:
                blank = replace(found, data=b"", segment="", owner="", is_page=False)
                self.documents[key] = blank
                self._changed()

    async def delete(self, keys: Sequence[LogKey]) -> None:
        for key in keys:
            self.documents.pop(key, None)
            self._changed()

    async def now(self) -> int:
        raise NotImplementedError("the store is given a clock")

    async def health(self) -> Health:
        return Health(store="dictionary", version="1", writable=True)

    async def make_ready(self, *, may_migrate: bool) -> None:
        """Do nothing: a dictionary is ready."""

    async def schema_version(self) -> int:
        return 1

    async def aclose(self) -> None:
        """Do nothing: whoever has the dictionary opens it again."""
