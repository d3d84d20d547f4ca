"""A memory store with a session, which is sound when the test is over."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from sapwood.model import NewSession
from sapwood.stores.memory import MemoryStore

from .acts import OWNER, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    numbers = itertools.count(1)
    with MemoryStore(clock=clock, new_id=lambda: f"new-{next(numbers)}") as store:
        store.create_session(OWNER, NewSession(id="a"))
        yield store
        store.finish_deletions()
        assert store.admin.check() == []
