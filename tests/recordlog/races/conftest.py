"""Two stores on one log."""

from __future__ import annotations

import pytest

from sapwood.model import (
    NewSession,
)
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say

from .support import Paused, PausedStore, Shared


@pytest.fixture
def documents() -> dict[LogKey, LogDocument]:
    return {}


@pytest.fixture
def log(documents: dict[LogKey, LogDocument]) -> Paused:
    return Paused(documents)


@pytest.fixture
def store(documents: dict[LogKey, LogDocument]) -> PausedStore:
    store = PausedStore(ManualClock(), Shared(documents))
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2")])
    return store


@pytest.fixture
def other(documents: dict[LogKey, LogDocument], store: PausedStore) -> PausedStore:
    return PausedStore(ManualClock(), Shared(documents))
