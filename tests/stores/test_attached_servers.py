"""A search index attached to the store of every server: found, edited, deleted, repaired."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cli.command import Command
from servers import opensearch
from servers.urls import SERVERS, emptied

import sapwood
from sapwood.stores.searched import AsyncSearchedStore, SearchedStore

pytestmark = pytest.mark.usefixtures("opensearch_url")

STORES = (*SERVERS, "redis_cluster")
numbers = count()


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest) -> str:
    return emptied(request.param, request)


@pytest.fixture
def prefix() -> Iterator[str]:
    """Give a prefix that nobody used, and remove what was made under it."""
    prefix = f"{opensearch.prefix()}-beside{next(numbers)}"
    yield prefix
    opensearch.admin().indices.delete(index=f"{prefix}-*", params={"expand_wildcards": "all"})


@pytest.fixture
def search(opensearch_url: str, prefix: str) -> str:
    return f"{opensearch_url}{'&' if '?' in opensearch_url else '?'}prefix={prefix}"


def places(hits: Any) -> list[tuple[str, str]]:
    return sorted((hit.session, hit.entry.id) for hit in hits.hits)


def indexed(prefix: str) -> list[str]:
    """List the messages that the index has, by what is in it and not by the store."""
    client = opensearch.admin()
    client.indices.refresh(index=f"{prefix}-search")
    body = {"query": {"term": {"kind": "message"}}, "size": 100}
    found = client.search(index=f"{prefix}-search", body=body)["hits"]["hits"]
    return sorted(it["_source"]["id"] for it in found)


def lose_the_messages(prefix: str) -> None:
    body = {"query": {"term": {"kind": "message"}}}
    opensearch.admin().indices.refresh(index=f"{prefix}-search")
    opensearch.admin().delete_by_query(index=f"{prefix}-search", body=body, refresh=True)


def test_a_servers_store_finds_through_its_index_what_was_said_edited_and_deleted(
    url: str, search: str, prefix: str
) -> None:
    with sapwood.open(url, owner="ada", search=search) as sessions:
        assert isinstance(sessions.store, SearchedStore)
        chat = sessions.session("chat")
        for id in ("m1", "m2", "m3"):
            chat.append("user", "the lighthouse", id=id)
        chat.fork("fork", "m2").append("user", "the lighthouse of a fork", id="f1")
        sessions.session("other").append("user", "部署 the harbour", id="o1")
        assert places(sessions.search("lighthouse")) == [
            ("chat", "m1"),
            ("chat", "m2"),
            ("chat", "m3"),
            ("fork", "f1"),
        ]
        assert places(sessions.search("部署")) == [("other", "o1")]
        assert indexed(prefix) == ["f1", "m1", "m2", "m3", "o1"]
        chat.update("m1", "the harbour")
        assert places(sessions.search("harbour")) == [("chat", "m1"), ("other", "o1")]
        assert places(sessions.search("lighthouse", session="fork")) == [
            ("chat", "m2"),
            ("fork", "f1"),
        ]
        chat.delete("m3")
        assert places(sessions.search("lighthouse", session="chat")) == [("chat", "m2")]
        assert indexed(prefix) == ["f1", "m1", "m2", "o1"]
        sessions.delete("chat")
        sessions.finish_deletions()
        assert places(sessions.search("lighthouse OR harbour")) == [
            ("fork", "f1"),
            ("fork", "m1"),
            ("fork", "m2"),
            ("other", "o1"),
        ]
        sessions.delete("fork")
        sessions.finish_deletions()
        assert indexed(prefix) == ["o1"]
        assert sessions.store.admin.check() == []


async def test_the_same_on_a_loop(url: str, search: str, prefix: str) -> None:
    async with sapwood.open_async(url, owner="ada", search=search) as sessions:
        assert isinstance(sessions.store, AsyncSearchedStore)
        chat = await sessions.session("chat")
        for id in ("m1", "m2", "m3"):
            await chat.append("user", "the lighthouse", id=id)
        fork = await chat.fork("fork", "m2")
        await fork.append("user", "the lighthouse of a fork", id="f1")
        found = places(await sessions.search("lighthouse"))
        assert found == [("chat", "m1"), ("chat", "m2"), ("chat", "m3"), ("fork", "f1")]
        assert indexed(prefix) == ["f1", "m1", "m2", "m3"]
        await chat.update("m1", "the harbour")
        assert places(await sessions.search("harbour")) == [("chat", "m1")]
        await chat.delete("m3")
        found = places(await sessions.search("lighthouse", session="chat"))
        assert found == [("chat", "m2")]
        await sessions.delete("chat")
        await sessions.finish_deletions()
        found = places(await sessions.search("lighthouse OR harbour"))
        assert found == [("fork", "f1"), ("fork", "m1"), ("fork", "m2")]
        assert await sessions.store.admin.check() == []


def test_the_doctor_repairs_the_index_of_a_servers_store(
    url: str, search: str, prefix: str, tmp_path: Path
) -> None:
    with sapwood.open(url, owner="ada", search=search) as sessions:
        chat = sessions.session("chat")
        chat.append_all([("user", "the lighthouse"), ("assistant", "the harbour")])
        assert len(sessions.search("lighthouse").hits) == 1
    lose_the_messages(prefix)
    doctor = Command(tmp_path, url)
    told = doctor.run("doctor", "--search", search)
    assert (told.returncode, "2 messages are not in the search index" in told.stdout) == (10, True)
    assert doctor.run("doctor", "--repair", "--search", search).returncode == 0
    assert len(indexed(prefix)) == 2
    with sapwood.open(url, owner="ada", search=search) as sessions:
        assert len(sessions.search("lighthouse").hits) == 1


async def test_the_async_twin_repairs_the_index_of_a_servers_store(
    url: str, search: str, prefix: str
) -> None:
    async with sapwood.open_async(url, owner="ada", search=search) as sessions:
        chat = await sessions.session("chat")
        await chat.append_all([("user", "the lighthouse"), ("assistant", "the harbour")])
        assert len((await sessions.search("lighthouse")).hits) == 1
        lose_the_messages(prefix)
        assert [it.kind for it in await sessions.store.admin.check()] == ["index"]
        assert (await sessions.search("lighthouse")).hits == []
        assert await sessions.store.admin.repair() == []
        assert len((await sessions.search("lighthouse")).hits) == 1
