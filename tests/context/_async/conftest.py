from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood.context import AsyncContext, BlockConfig
from sapwood.model import NewSession
from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore
from sapwood.stores.memory import AsyncMemoryStore
from sapwood.stores.sqlite import AsyncSqliteStore
from sapwood.testing import ManualClock

Make = Callable[..., AsyncContext]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock
) -> AsyncIterator[AsyncStore]:
    new_id = IdMaker(clock, os.urandom)
    given: AsyncStore
    if request.param == "memory":
        given = AsyncMemoryStore(clock=clock, new_id=new_id)
    else:
        given = AsyncSqliteStore(tmp_path / "context.db", clock=clock, new_id=new_id)
    async with given:
        await given.create_session("ada", NewSession(id="chat"))
        yield given


@pytest.fixture
def make(store: AsyncStore) -> Make:
    """Make a context of the session "chat"; what is in memory is new each time."""

    def made(*blocks: BlockConfig, **options: Any) -> AsyncContext:
        session = options.pop("session", "chat")
        return AsyncContext(store, options.pop("owner", "ada"), session, blocks, **options)

    return made
