"""Two processes on one log: what one does between two looks of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from recordlog._sync.dictionary import DictionaryLog
from recordlog.stores import DictionaryStore
from sapwood.errors import (
    StoreUnavailableError,
)
from sapwood.stores.recordlog.stored import Key, Kind, Stored

Hook = Callable[[], object]


class Paused(DictionaryLog):
    """What one process sees of a dictionary; before a named call, something may happen."""

    def __init__(self, documents: dict[Key, Stored] | None = None, *, lag: int = 0) -> None:
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

    def create(self, document: Stored) -> bool:
        self._reach("create", document)
        return super().create(document)

    def get(self, keys: Sequence[Key]) -> list[Stored | None]:
        self._reach("get", keys)
        return super().get(keys)

    def following(self, tree: str, log: str, after: int) -> list[Stored]:
        self._reach("following", log)
        return super().following(tree, log, after)

    def spans(self, tree: str, ranges: Sequence[tuple[str, int, int]]) -> list[Stored]:
        self._reach("spans", ranges)
        return super().spans(tree, ranges)

    def entries(self, owner: str | None) -> list[Stored]:
        self._reach("entries", owner)
        return super().entries(owner)

    def put(self, documents: Sequence[Stored]) -> None:
        self._reach("put", documents)
        super().put(documents)

    def blank(self, keys: Sequence[Key]) -> None:
        self._reach("blank", keys)
        super().blank(keys)

    def create_all(self, documents: Sequence[Stored]) -> None:
        self._reach("create_all", documents)
        super().create_all(documents)


class PausedStore(DictionaryStore):
    """A process of its own."""

    log: Paused


def is_entry(document: Stored) -> bool:
    return document.kind is Kind.ENTRY


def fail() -> None:
    raise StoreUnavailableError("the server is gone")


class Shared(Paused):
    """Shows at once what others wrote."""

    def _records(self, tree: str) -> list[Stored]:
        self._show()
        return super()._records(tree)


def texts(documents: dict[Key, Stored]) -> bytes:
    return b"".join(it.data for it in documents.values())
