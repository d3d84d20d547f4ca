from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from servers.urls import SERVERS, emptied
from tier import FULL

import sapwood
from sapwood.model import SessionKey


@pytest.fixture(params=["memory", "sqlite", *(SERVERS if FULL else ())])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param in SERVERS:
        return emptied(request.param, request)
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/sessions.db"


@pytest.fixture
async def sessions(url: str) -> AsyncIterator[sapwood.AsyncSessionManager]:
    async with sapwood.open_async(url, owner="ada") as manager:
        yield manager


@pytest.fixture
def key() -> SessionKey:
    return SessionKey("bot", "telegram", "@bob:srv.org")
