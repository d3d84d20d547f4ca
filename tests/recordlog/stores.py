"""Stores on a record log in a dictionary, which may outlive them."""

from __future__ import annotations

import os
from collections.abc import Callable

from recordlog._async.dictionary import AsyncDictionaryDriver
from recordlog._sync.dictionary import DictionaryDriver
from sapwood.rules.ids import IdMaker
from sapwood.store import Capability
from sapwood.stores.base._async.store import AsyncBaseStore
from sapwood.stores.base._sync.store import BaseStore
from sapwood.stores.recordlog._async.runner import AsyncLogRunner
from sapwood.stores.recordlog._sync.runner import LogRunner

LAG = 7


class DictionaryStore(BaseStore):
    capabilities = frozenset({Capability.DURABLE, Capability.SHARED, Capability.DATA})

    def __init__(self, clock: Callable[[], int], log: DictionaryDriver | None = None) -> None:
        new_id = IdMaker(clock, os.urandom)
        self.log = log or DictionaryDriver(lag=LAG)
        runner = LogRunner(self.log, new_id=new_id, clock=clock, auto_migrate=True)
        super().__init__(runner, new_id=new_id)


class AsyncDictionaryStore(AsyncBaseStore):
    capabilities = frozenset({Capability.DURABLE, Capability.SHARED, Capability.DATA})

    def __init__(self, clock: Callable[[], int], log: AsyncDictionaryDriver | None = None) -> None:
        new_id = IdMaker(clock, os.urandom)
        self.log = log or AsyncDictionaryDriver(lag=LAG)
        runner = AsyncLogRunner(self.log, new_id=new_id, clock=clock, auto_migrate=True)
        super().__init__(runner, new_id=new_id)
