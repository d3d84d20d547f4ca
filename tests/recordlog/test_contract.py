"""The record log keeps the contract, whatever database is under it, in both twins.

Questions lag behind here, and pages come often: what a server shows seldom is the rule.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from contract.places import as_many
from contract.taking_out import from_records
from tier import WRITTEN_BY_HAND, usually

from recordlog._async.dictionary import AsyncDictionaryDriver
from recordlog._sync.dictionary import DictionaryDriver
from recordlog.stores import AsyncDictionaryStore, DictionaryStore
from sapwood.store import AsyncStore, Store
from sapwood.stores.recordlog import record
from sapwood.stores.recordlog.log_documents import LogKey, LogKind
from sapwood.testing import (
    AsyncDataStoreContract,
    AsyncDurableStoreContract,
    AsyncSharedContract,
    DataStoreContract,
    DurableStoreContract,
    ManualClock,
    SharedContract,
    TakeOut,
    machine_for,
)


@pytest.fixture(autouse=True)
def _pages_come_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "PAGE", 3)


def out_of(log: DictionaryDriver | AsyncDictionaryDriver) -> TakeOut:
    def records() -> Iterator[tuple[LogKey, bytes]]:
        return ((key, it.data) for key, it in log.documents.items() if it.kind is LogKind.RECORD)

    def delete(key: LogKey) -> None:
        del log.documents[key]
        log.shown.pop(key, None)

    return from_records(records, delete)


@usually(only=WRITTEN_BY_HAND)
class TestDictionaryStore(DataStoreContract, DurableStoreContract, SharedContract):
    @pytest.fixture
    def store(self, clock: ManualClock) -> Store:
        return DictionaryStore(clock)

    @pytest.fixture
    def take_out(self, store: DictionaryStore) -> TakeOut:
        return out_of(store.log)

    @pytest.fixture
    def reopen(self, clock: ManualClock, store: DictionaryStore) -> Callable[[], Store]:
        return lambda: DictionaryStore(clock, store.log)

    another = reopen


class TestAsyncDictionaryStore(
    AsyncDataStoreContract, AsyncDurableStoreContract, AsyncSharedContract
):
    @pytest.fixture
    async def store(self, clock: ManualClock) -> AsyncStore:
        return AsyncDictionaryStore(clock)

    @pytest.fixture
    def take_out(self, store: AsyncDictionaryStore) -> TakeOut:
        return out_of(store.log)

    @pytest.fixture
    def reopen(
        self, clock: ManualClock, store: AsyncDictionaryStore
    ) -> Callable[[], Awaitable[AsyncStore]]:
        async def reopen() -> AsyncStore:
            return AsyncDictionaryStore(clock, store.log)

        return reopen

    another = reopen


class InADictionary:
    def __init__(self, kind: Callable[..., Any], clock: ManualClock) -> None:
        self._clock = clock
        self._kind = kind
        self._log: Any = None

    def open(self) -> Any:
        store = self._kind(self._clock, self._log)
        self._log = store.log
        return store

    def discard(self) -> None:
        """Leave it to the garbage collector."""


TestMachine = machine_for("record log, sync", partial(InADictionary, DictionaryStore)).TestCase
TestAsyncMachine = machine_for(
    "record log, async", partial(InADictionary, AsyncDictionaryStore)
).TestCase
TestMachine.settings = TestAsyncMachine.settings = as_many(usual=8, full=120)
