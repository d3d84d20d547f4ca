"""Two processes on one log: what one does between two looks of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from recordlog._sync.dictionary import DictionaryDriver
from recordlog.stores import DictionaryStore
from sapwood.errors import (
    StoreUnavailableError,
)
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey, LogKind

Hook = Callable[[], object]


class Paused(DictionaryDriver):
    """What one process sees of a dictionary; before a named call, something may happen."""

    def __init__(self, documents: dict[LogKey, LogDocument] | None = None, *, lag: int = 0) -> None:
        super().__init__(documents, lag=lag)
        self.hooks: list[tuple[str, Callable[[Any], bool], Hook]] = []

    def before(self, call: str, hook: Hook, when: Callable[[Any], bool] = lambda _: True) -> None:
        """Do something before the next such call, once."""
        self.hooks.append((call, when, hook))

    def _reach(self, call: str, given: Any) -> None:
        for it in self.hooks:
            if it[0] == call and it[1](given):
                self.hooks.remove(it)
                it[2]()
                return

    def create(self, document: LogDocument) -> bool:
        self._reach("create", document)
        return super().create(document)

    def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        self._reach("get", keys)
        return super().get(keys)

    def following(self, tree: str, log: str, after: int) -> list[LogDocument]:
        self._reach("following", log)
        return super().following(tree, log, after)

    def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[LogDocument]:
        self._reach("spans", ranges)
        return super().spans(tree, ranges)

    def entries(self, owner: str | None) -> list[LogDocument]:
        self._reach("entries", owner)
        return super().entries(owner)

    def put(self, documents: Sequence[LogDocument]) -> None:
        self._reach("put", documents)
        super().put(documents)

    def blank(self, keys: Sequence[LogKey]) -> None:
        self._reach("blank", keys)
        super().blank(keys)

    def create_all(self, documents: Sequence[LogDocument]) -> None:
        self._reach("create_all", documents)
        super().create_all(documents)


class PausedStore(DictionaryStore):
    """A process of its own."""

    log: Paused


def is_entry(document: LogDocument) -> bool:
    return document.kind is LogKind.ENTRY


def fail() -> None:
    raise StoreUnavailableError("the server is gone")


class Shared(Paused):
    """Shows at once what others wrote."""

    def _records(self, tree: str) -> list[LogDocument]:
        self._show()
        return super()._records(tree)


def texts(documents: dict[LogKey, LogDocument]) -> bytes:
    return b"".join(it.data for it in documents.values())
