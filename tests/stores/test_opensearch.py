"""What the OpenSearch store has of its own: opening by URL, names, requests, what searches see."""

from __future__ import annotations

import base64
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from servers import opensearch
from servers.url import with_parameters

import sapwood
from sapwood.errors import AlreadyExistsError, UsageError
from sapwood.model import NewSession, Read, Search, SessionQuery
from sapwood.rules.ids import IdMaker
from sapwood.stores.opensearch import OpenSearchStore
from sapwood.testing.makers import ADA, fork_of, say

pytestmark = pytest.mark.usefixtures("opensearch_url")

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)
numbers = count()


@pytest.fixture
def prefix() -> Iterator[str]:
    """Give a prefix that nobody used, and remove what was made under it."""
    prefix = f"{opensearch.prefix()}-store{next(numbers)}"
    yield prefix
    opensearch.admin().indices.delete(index=f"{prefix}-*")


def open_store(prefix: str, **options: Any) -> OpenSearchStore:
    return OpenSearchStore(opensearch.shared_url(), prefix=prefix, new_id=new_id, **options)


def ids_in(store: Any, session: str = "s") -> list[str]:
    return [it.id for it in store.read(ADA, session, Read()).messages_only]


class Counted:
    """A client that counts its requests."""

    def __init__(self) -> None:
        self.client = opensearch.connect(opensearch.shared_url() or "")
        self.requests: list[str] = []
        perform = self.client.transport.perform_request

        def counting(method: str, path: str, **options: Any) -> Any:
            self.requests.append(f"{method} {path}")
            return perform(method, path, **options)

        self.client.transport.perform_request = counting

    def take(self) -> int:
        made, self.requests[:] = len(self.requests), []
        return made


def test_a_store_is_opened_by_its_url_and_names_its_indices(
    opensearch_url: str, prefix: str
) -> None:
    url = with_parameters(opensearch_url, prefix=prefix, refresh="true", shards="2", replicas="0")
    with sapwood.open(url) as sessions:
        sessions.session("chat").append("user", "the lighthouse")
        assert len(sessions.search("lighthouse").hits) == 1
    made = opensearch.admin().indices.get(index=f"{prefix}-*")
    names = ("entries-1", "lookups-1", "records-1", "search-2")
    assert sorted(made) == [f"{prefix}-{name}" for name in names]
    for index in made.values():
        assert index["settings"]["index"]["number_of_shards"] == "2"
        assert index["settings"]["index"]["number_of_replicas"] == "0"


async def test_the_same_on_a_loop(opensearch_url: str, prefix: str) -> None:
    async with sapwood.open_async(with_parameters(opensearch_url, prefix=prefix)) as sessions:
        chat = await sessions.session("chat")
        await chat.append("user", "the lighthouse")
        assert len((await sessions.search("lighthouse")).hits) == 1


@pytest.mark.parametrize(
    "rest",
    ["?s3cret=1", "/s3cret", "?prefix=S3CRET", "?refresh=maybe", "?shards=x", ":port"],
)
def test_rule_15_a_url_that_cannot_be_read_is_refused_without_its_password(rest: str) -> None:
    with pytest.raises(UsageError) as raised:
        sapwood.open(f"opensearch://ada:s3cret@host{rest}")
    assert "s3cret" not in str(raised.value)


def test_a_url_or_a_client_is_needed() -> None:
    with pytest.raises(UsageError):
        OpenSearchStore(new_id=new_id)


def test_an_append_is_one_request_and_one_more_with_an_id(prefix: str) -> None:
    counted = Counted()
    with OpenSearchStore(client=counted.client, prefix=prefix, new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        counted.take()
        for _ in range(3):
            store.append(ADA, "s", [say(None)])
            assert counted.take() == 1
            store.append(ADA, "s", [say(new_id())])
            assert counted.take() == 2
        store.append(ADA, "s", [say(None), say(None), say(None)])
        assert counted.take() == 1
        store.read(ADA, "s", Read())
        assert counted.take() <= 3
    assert counted.client.ping()
    counted.client.close()


def test_a_history_is_read_as_it_was_written_before_searches_see_it(prefix: str) -> None:
    """Nothing is refreshed between writing and reading, by the one who wrote and by others."""
    with open_store(prefix) as store, open_store(prefix) as other:
        store.create_session(ADA, NewSession(id="s"))
        body = {"index.refresh_interval": "-1"}
        opensearch.admin().indices.put_settings(index=f"{prefix}-*", body=body)
        for n in range(80):
            store.append(ADA, "s", [say(f"m{n}")])
        expected = [f"m{n}" for n in range(80)]
        assert ids_in(store) == ids_in(other) == expected
        store.append(ADA, "s", [say("x")], parent="m40")
        assert ids_in(other) == [*expected[:41], "x"]
        store.create_session(ADA, fork_of("s", "m60"))
        assert ids_in(other, "fork") == expected[:61]
        assert len(other.search(ADA, Search(text="m77")).hits) == 1
        page = other.list_sessions(ADA, SessionQuery(order="created"))
        assert [it.id for it in page.sessions] == ["fork", "s"]


def test_several_that_start_at_once_set_up_one_store(prefix: str) -> None:
    failed: list[BaseException] = []

    def start(number: int) -> None:
        try:
            with open_store(prefix) as store:
                with contextlib.suppress(AlreadyExistsError):
                    store.create_session(ADA, NewSession(id="s"))
                store.append(ADA, "s", [say(f"m{number}")])
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=start, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    with open_store(prefix) as store:
        assert sorted(ids_in(store)) == [f"m{n}" for n in range(4)]


def test_all_of_a_tree_is_on_one_shard(prefix: str) -> None:
    with open_store(prefix, shards=3) as store:
        for session in ("a", "b", "c"):
            store.create_session(ADA, NewSession(id=session))
            for n in range(5):
                store.append(ADA, session, [say(f"m{n}")])
            store.create_session(ADA, fork_of(session, id=f"{session}-fork"))
            store.append(ADA, f"{session}-fork", [say("f")])
            assert ids_in(store, f"{session}-fork") == [*(f"m{n}" for n in range(5)), "f"]
        assert store.admin.check() == []
    client = opensearch.admin()
    client.indices.refresh(index=f"{prefix}-records")
    found = client.search(index=f"{prefix}-records", body={"size": 1_000})["hits"]["hits"]
    assert all(hit["_routing"] == hit["_source"]["tree"] for hit in found)
    assert len({hit["_routing"] for hit in found}) >= 3


def test_what_is_erased_is_in_no_document(prefix: str) -> None:
    with open_store(prefix) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1", "zanzibar"), say("m2", "lighthouse")])
        assert len(store.search(ADA, Search(text="zanzibar")).hits) == 1
        store.delete_messages(ADA, "s", ["m1"])
        store.finish_deletions()
        client = opensearch.admin()
        client.indices.refresh(index=f"{prefix}-*")
        found = client.search(index=f"{prefix}-*", body={"size": 1_000})["hits"]["hits"]
        data = [base64.b64decode(hit["_source"].get("data", "")) for hit in found]
        assert any(b"lighthouse" in it for it in data)
        assert not any(b"zanzibar" in it for it in data)
        body = {"query": {"term": {"text": "zanzibar"}}}
        assert client.count(index=f"{prefix}-search", body=body)["count"] == 0


def test_a_search_that_follows_nothing_new_writes_nothing(prefix: str) -> None:
    """Registering as a reader of the feed is a record of the feed, and no reason to do it again."""
    with open_store(prefix) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1", "lighthouse")])
        counts: list[int] = []
        for _ in range(4):
            assert len(store.search(ADA, Search(text="lighthouse")).hits) == 1
            opensearch.admin().indices.refresh(index=f"{prefix}-*")
            counts.append(opensearch.admin().count(index=f"{prefix}-*")["count"])
        assert counts[1] == counts[2] == counts[3]


def test_a_searchs_requests_do_not_depend_on_how_many_sessions_have_hits(prefix: str) -> None:
    counted = Counted()
    with OpenSearchStore(client=counted.client, prefix=prefix, new_id=new_id) as store:
        made: dict[str, list[int]] = {"new": [], "again": []}
        for sessions in (range(2), range(2, 12)):
            for n in sessions:
                store.create_session(ADA, NewSession(id=f"s{n}"))
            store.search(ADA, Search(text="lighthouse"))
            for n in range(sessions.stop):
                store.append(ADA, f"s{n}", [say(None, "lighthouse"), say(None, "else")])
            for what in made.values():
                counted.take()
                found = store.search(ADA, Search(text="lighthouse", limit=100))
                assert len(found.hits) == sessions.stop + (2 if sessions.start else 0)
                what.append(counted.take())
        # The first reads once more that the index follows the feed.
        assert made["new"][1] <= made["new"][0] <= 15
        assert made["again"] == [6, 6]
        store.append(ADA, "s1", [say(None, "lighthouse")])
        store.search(ADA, Search(text="lighthouse", session="s1"))
        counted.take()
        assert len(store.search(ADA, Search(text="lighthouse", session="s1")).hits) == 3
        assert counted.take() == 6
    counted.client.close()


def test_the_end_of_a_history_that_was_written_here_is_one_request(prefix: str) -> None:
    counted = Counted()
    with OpenSearchStore(client=counted.client, prefix=prefix, new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(12):
            store.append(ADA, "s", [say(f"m{n}-{k}") for k in range(10)])
        counted.take()
        page = store.read(ADA, "s", Read(limit=50, backwards=True))
        assert [it.id for it in page.messages_only] == [
            f"m{n}-{k}" for n in range(7, 12) for k in range(10)
        ]
        assert counted.requests == ["POST /_mget"]
        counted.take()
    counted.client.close()


def test_a_long_history_is_read_with_two_requests(prefix: str) -> None:
    counted = Counted()
    with OpenSearchStore(client=counted.client, prefix=prefix, new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(600):
            store.append(ADA, "s", [say(None, str(n))])
        opensearch.admin().indices.refresh(index=f"{prefix}-*")
        counted.take()
        page = store.read(ADA, "s", Read())
        assert [it.text for it in page.messages_only] == [str(n) for n in range(600)]
        assert counted.requests == ["POST /_mget", f"POST /{prefix}-records/_search"]
    counted.client.close()
