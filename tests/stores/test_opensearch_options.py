"""Options of the OpenSearch store and of its index that change what others see, in both twins."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from opensearchpy import AsyncOpenSearch
from servers import opensearch

import sapwood
from sapwood.model import NewSession, Read
from sapwood.rules.ids import IdMaker
from sapwood.stores.opensearch import AsyncOpenSearchStore
from sapwood.testing.makers import ADA, say, shown

pytestmark = pytest.mark.usefixtures("opensearch_url")

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)
numbers = count()


@pytest.fixture
def prefix() -> Iterator[str]:
    """Give a prefix that nobody used, and remove what was made under it."""
    prefix = f"{opensearch.prefix()}-option{next(numbers)}"
    yield prefix
    opensearch.admin().indices.delete(index=f"{prefix}-*", params={"expand_wildcards": "all"})


def url_with(prefix: str, refresh: str) -> str:
    address = opensearch.shared_url() or ""
    return f"{address}{'&' if '?' in address else '?'}prefix={prefix}&refresh={refresh}"


def never_refresh(prefix: str) -> None:
    """Let searches of the server see nothing new by themselves."""
    body = {"index.refresh_interval": "-1"}
    opensearch.admin().indices.put_settings(index=f"{prefix}-*", body=body)
    opensearch.admin().indices.refresh(index=f"{prefix}-*")


def seen(prefix: str) -> int:
    """Count the records that a program sees which asks the server beside sapwood."""
    found = opensearch.admin().search(index=f"{prefix}-records", body={"track_total_hits": True})
    return int(found["hits"]["total"]["value"])


@pytest.mark.parametrize(("refresh", "more"), [("true", 3), ("false", 0)])
def test_with_refresh_others_see_at_once_what_was_written(
    prefix: str, refresh: str, more: int
) -> None:
    with sapwood.open(url_with(prefix, refresh)) as sessions:
        chat = sessions.session("chat")
        chat.append("user", "the first")
        never_refresh(prefix)
        before = seen(prefix)
        for n in range(3):
            chat.append("user", f"the {n}")
        assert seen(prefix) == before + more


@pytest.mark.parametrize(("refresh", "more"), [("true", 3), ("false", 0)])
async def test_the_same_on_a_loop(prefix: str, refresh: str, more: int) -> None:
    async with sapwood.open_async(url_with(prefix, refresh)) as sessions:
        chat = await sessions.session("chat")
        await chat.append("user", "the first")
        never_refresh(prefix)
        before = seen(prefix)
        for n in range(3):
            await chat.append("user", f"the {n}")
        assert seen(prefix) == before + more


@pytest.mark.parametrize(("refresh", "at_once"), [("true", 2), ("false", 1)])
def test_an_attached_index_that_does_not_refresh_finds_later(
    prefix: str, tmp_path: Path, refresh: str, at_once: int
) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    with sapwood.open(store, search=url_with(prefix, refresh)) as sessions:
        chat = sessions.session("chat")
        chat.append("user", "the lighthouse")
        sessions.search("lighthouse")
        never_refresh(prefix)
        assert len(sessions.search("lighthouse").hits) == 1
        chat.append("user", "another lighthouse")
        assert len(sessions.search("lighthouse").hits) == at_once
        opensearch.admin().indices.refresh(index=f"{prefix}-*")
        assert len(sessions.search("lighthouse").hits) == 2


async def test_a_client_that_is_given_to_the_async_store_stays_open(prefix: str) -> None:
    address = (opensearch.shared_url() or "").replace("opensearch", "http", 1)
    async with AsyncOpenSearch(hosts=[address]) as client:
        async with AsyncOpenSearchStore(client=client, prefix=prefix, new_id=new_id) as store:
            await store.create_session(ADA, NewSession(id="s"))
            await store.append(ADA, "s", [say("m1"), say("m2")])
            assert shown(await store.read(ADA, "s", Read())) == ["m1", "m2"]
        assert await client.ping()
        async with AsyncOpenSearchStore(client=client, prefix=prefix, new_id=new_id) as store:
            assert shown(await store.read(ADA, "s", Read())) == ["m1", "m2"]
