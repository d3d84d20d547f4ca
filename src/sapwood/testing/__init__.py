"""What a store is held to: the contract suite, the oracle, and the state machine.

A third party's store is tested by one class with one fixture:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, clock):
            with MyStore(clock=clock) as store:
                yield store

`clock` is a `ManualClock`: a function that gives microseconds, and that tests move by hand. A store
that reads a server's clock overrides it with a `WaitingClock`. A store that declares DURABLE
inherits `DurableStoreContract` and also gives the fixture `reopen`, and may give `take_out`; one
that declares SHARED also inherits `SharedContract`, and gives the fixture `another`, and one that
declares DATA `DataStoreContract`.
"""

import pytest

pytest.register_assert_rewrite(f"{__name__}._async", f"{__name__}._sync", f"{__name__}.machine")

from . import strategies  # noqa: E402
from ._async.contract import (  # noqa: E402
    AsyncDataStoreContract,
    AsyncDurableStoreContract,
    AsyncStoreContract,
)
from ._async.shared import AsyncSharedContract  # noqa: E402
from ._sync.contract import (  # noqa: E402
    DataStoreContract,
    DurableStoreContract,
    StoreContract,
)
from ._sync.shared import SharedContract  # noqa: E402
from .clock import Clock, ManualClock, WaitingClock  # noqa: E402
from .counts import COUNTS  # noqa: E402
from .machine import Place, StoreMachine, machine_for  # noqa: E402
from .oracle import Oracle  # noqa: E402
from .queries import QUERIES, REFUSED, QueryCase  # noqa: E402
from .twin import TakeOut  # noqa: E402

__all__ = [
    "COUNTS",
    "QUERIES",
    "REFUSED",
    "AsyncDataStoreContract",
    "AsyncDurableStoreContract",
    "AsyncSharedContract",
    "AsyncStoreContract",
    "Clock",
    "DataStoreContract",
    "DurableStoreContract",
    "ManualClock",
    "Oracle",
    "Place",
    "QueryCase",
    "SharedContract",
    "StoreContract",
    "StoreMachine",
    "TakeOut",
    "WaitingClock",
    "machine_for",
    "strategies",
]
