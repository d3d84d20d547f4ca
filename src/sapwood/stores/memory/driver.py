"""The documents of a memory store, and the record log's driver for them."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from msgspec.structs import replace

from ..._version import __version__
from ...model import Health
from ..recordlog._sync.driver import LogDriver
from ..recordlog.log_documents import (
    LogDocument,
    LogKey,
    LogKind,
    document_at,
    is_owner_log,
    record_key,
)
from ..recordlog.record import Record, encode_record
from ..recordlog.rows import RowCache
from ..recordlog.work import SkipNumbers

SCHEMA_VERSION = 1

_first = itemgetter(0)


@dataclass(slots=True)
class Shelf:
    """All that a store holds. `documents` is what there is; the rest only says where to look."""

    documents: dict[str, LogDocument] = field(default_factory=dict)
    entries: dict[str, dict[str, None]] = field(default_factory=dict)
    """The ids of an owner's entries, and maybe of some that are not there."""
    pages: dict[str, str] = field(default_factory=dict)
    """The newest page of each log."""
    segments: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """The records of each segment, in order, by their first depth."""
    numbers: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The tree of each log, and the last number that was given out in it."""
    taken_back: dict[str, list[range]] = field(default_factory=dict)
    """Numbers of logs that were given out in times that the store went back from."""
    forgotten: dict[str, int] = field(default_factory=dict)
    """By the shard of a name, how many sessions had it that the store went back from."""
    highest: int = 0
    """The highest number that was given out in logs that are not there any more."""

    def add(self, document: LogDocument) -> bool:
        """Add a document; False when its name is taken. An interrupt finds it there or not."""
        if self.find(document.id) is not None:
            return False
        if document.kind is LogKind.ENTRY:
            self.entries.setdefault(document.owner, {})[document.id] = None
        self.documents[document.id] = document
        if document.kind is LogKind.RECORD:
            self.numbers[document.log] = document.shard, document.n
            self.index(document)
        return True

    def index(self, document: LogDocument) -> None:
        """Let a record be found by its place; what is not is found when all are indexed anew."""
        if document.is_page:
            self.pages[document.log] = document.id
        if document.segment:
            found = self.segments.setdefault(document.segment, [])
            found.append((document.first, document.id))

    def index_anew(self) -> None:
        """Let all records be found by their places."""
        self.pages, self.segments = {}, {}
        for document in sorted(self.documents.values(), key=lambda it: it.n):
            self.index(document)

    def records(self, segment: str, first: int, last: int) -> Iterator[LogDocument]:
        """Yield the records that have messages of a range."""
        found = self.segments.get(segment, [])
        for index in range(max(0, bisect_right(found, first, key=_first) - 1), len(found)):
            if found[index][0] > last:
                break
            document = self.documents.get(found[index][1])
            if document is not None and document.segment == segment and document.last >= first:
                yield document

    def copy(self) -> Shelf:
        """Return a copy; documents never change, and are shared."""
        return Shelf(
            documents=dict(self.documents),
            entries={owner: dict(ids) for owner, ids in self.entries.items()},
            pages=dict(self.pages),
            segments={segment: list(found) for segment, found in self.segments.items()},
            numbers=dict(self.numbers),
            taken_back={log: list(ranges) for log, ranges in self.taken_back.items()},
            forgotten=dict(self.forgotten),
            highest=self.highest,
        )

    def go_on_after(self, before: Shelf) -> None:
        """Give nothing out again that was given out by what the store held until now."""
        self._forget_names(before)
        self.highest = max(self.highest, before.highest)
        for log, (tree, known) in list(self.numbers.items()):
            if log not in before.numbers and known < before.highest:
                self._skip(tree, log, known + 1, before.highest)
        for log, (tree, last) in before.numbers.items():
            _, known = self.numbers.get(log, (tree, 0))
            if log not in self.numbers and not is_owner_log(log):
                self.highest = max(self.highest, last)
            elif known < last:
                self._skip(tree, log, known + 1, last)

    def _forget_names(self, before: Shelf) -> None:
        """Let sessions of a name go on after the numbers that others of this name had."""
        here = self._counts()
        given = {**before.forgotten, **before._counts()}  # an entry comes after what is forgotten
        for shard in given.keys() & here.keys():
            for k in range(here[shard] + 1, given.pop(shard) + 1):
                self.add(document_at(LogKey(LogKind.ENTRY, shard, f"{shard}/{k}"), b""))
        for shard in given.keys() & self.forgotten.keys():
            given[shard] = max(given[shard], self.forgotten[shard])
        self.forgotten.update(given)

    def _counts(self) -> dict[str, int]:
        """Return the highest number that an entry here has, by the shard of its name."""
        counts: dict[str, int] = {}
        for id in (id for ids in self.entries.values() for id in ids if id in self.documents):
            shard, _, k = id.partition("/")
            if k.isdigit():
                counts[shard] = max(counts.get(shard, 0), int(k))
        return counts

    def _skip(self, tree: str, log: str, first: int, last: int) -> None:
        """Let a log go on after numbers that were given out."""
        self.add(
            LogDocument(
                kind=LogKind.RECORD,
                id=record_key(tree, log, first).id,
                shard=tree,
                data=encode_record(Record("", 0, SkipNumbers(last + 1))),
                log=log,
                n=first,
            )
        )
        self.numbers[log] = tree, last + 1
        self.taken_back.setdefault(log, []).append(range(first, last + 1))

    def find(self, id: str) -> LogDocument | None:
        """Find a document; a record that is not kept any more, or was skipped, is empty."""
        found = self.documents.get(id)
        if found is not None:
            return found
        tree, _, rest = id.partition("/")
        log, _, n = rest.partition("/")
        if log not in self.numbers or "/" in n or int(n) > self.numbers[log][1]:
            return None
        return LogDocument(kind=LogKind.RECORD, id=id, shard=tree, data=b"", log=log, n=int(n))

    def drop(self, ids: Iterable[str]) -> None:
        """Remove documents. The names of records stay taken."""
        gone = [it for id in ids if (it := self.documents.pop(id, None)) is not None]
        for segment in {it.segment for it in gone} & self.segments.keys():
            self.segments[segment] = [
                it for it in self.segments[segment] if it[1] in self.documents
            ]
            if not self.segments[segment]:
                del self.segments[segment]


class MemorySnapshot:
    """What a memory store held at one moment. It never changes, and says nothing of itself."""

    __slots__ = ("_shelf", "_stamp")

    def __init__(self, shelf: Shelf, stamp: int) -> None:
        self._shelf = shelf.copy()
        self._stamp = stamp

    def shelf_after(self, before: Shelf) -> Shelf:
        """Return what it held, for a store that has this shelf now."""
        shelf = self._shelf.copy()
        shelf.go_on_after(before)
        return shelf

    def stamp(self) -> int:
        """Return a stamp that is above all that it holds."""
        return self._stamp


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
