"""A search index attached to a store: opening, feeding, what is lost and how it comes back."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from cli.command import Command
from opensearchpy import AsyncOpenSearch
from servers import opensearch
from servers.url import with_parameters

import sapwood
from sapwood.errors import (
    SchemaTooNewError,
    StoreCorruptError,
    StoreUnavailableError,
    UsageError,
)
from sapwood.model import NewSession, Overlay, Read, Search, SessionRecord
from sapwood.rules.ids import IdMaker
from sapwood.stores.memory import MemoryStore
from sapwood.stores.opensearch import AsyncOpenSearchIndex, OpenSearchIndex
from sapwood.stores.searched import AsyncSearchedStore, SearchedStore
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore
from sapwood.testing.makers import ADA, cover, fork_of, say

pytestmark = pytest.mark.usefixtures("opensearch_url")


def clock() -> int:
    return time.time_ns() // 1000


new_id = IdMaker(clock, os.urandom)
numbers = count()


@pytest.fixture
def prefix() -> Iterator[str]:
    """Give a prefix that nobody used, and remove what was made under it."""
    prefix = f"{opensearch.prefix()}-own{next(numbers)}"
    yield prefix
    opensearch.admin().indices.delete(index=f"{prefix}-*", params={"expand_wildcards": "all"})


def open_at(path: Path, prefix: str, **options: Any) -> SearchedStore:
    store = SqliteStore(path / "s.db", clock=clock, new_id=new_id)
    return SearchedStore(store, OpenSearchIndex(opensearch.shared_url(), prefix=prefix), **options)


@pytest.fixture
def store(tmp_path: Path, prefix: str) -> Iterator[SearchedStore]:
    with open_at(tmp_path, prefix) as store:
        yield store


@pytest.fixture
async def async_store(tmp_path: Path, prefix: str) -> AsyncIterator[AsyncSearchedStore]:
    inner = AsyncSqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id)
    index = AsyncOpenSearchIndex(opensearch.shared_url(), prefix=prefix)
    async with AsyncSearchedStore(inner, index) as store:
        yield store


def found(store: Any, text: str, session: str | None = None) -> list[str]:
    hits = store.search(ADA, Search(text=text, session=session, limit=1_000)).hits
    return sorted(f"{hit.session}/{hit.entry.id}" for hit in hits)


def tell(store: Any, session: str = "s", **texts: str) -> None:
    if store.find_session(ADA, session) is None:
        store.create_session(ADA, NewSession(id=session))
    store.append(ADA, session, [say(id, text) for id, text in texts.items()])


def documents(prefix: str, kind: str = "message") -> list[dict[str, Any]]:
    client = opensearch.admin()
    client.indices.refresh(index=f"{prefix}-search")
    body = {"query": {"term": {"kind": kind}}, "size": 1_000}
    return list(client.search(index=f"{prefix}-search", body=body)["hits"]["hits"])


def remove(prefix: str, kind: str) -> None:
    body = {"query": {"term": {"kind": kind}}}
    opensearch.admin().indices.refresh(index=f"{prefix}-search")
    opensearch.admin().delete_by_query(index=f"{prefix}-search", body=body, refresh=True)


def whats(store: Any) -> list[str]:
    return [problem.what for problem in store.admin.check()]


# opening


def test_a_store_and_its_index_are_opened_by_their_urls(
    tmp_path: Path, opensearch_url: str, prefix: str
) -> None:
    url = with_parameters(opensearch_url, prefix=prefix, refresh="true", shards="2", replicas="0")
    with sapwood.open(f"sqlite:///{tmp_path}/s.db", search=url) as sessions:
        sessions.session("chat").append("user", "the lighthouse")
        assert len(sessions.search("lighthouse").hits) == 1
    settings = opensearch.admin().indices.get_settings(index=f"{prefix}-search-2")
    made = settings[f"{prefix}-search-2"]["settings"]["index"]
    assert (made["number_of_shards"], made["number_of_replicas"]) == ("2", "0")


async def test_the_same_on_a_loop(tmp_path: Path, opensearch_url: str, prefix: str) -> None:
    url = with_parameters(opensearch_url, prefix=prefix)
    async with sapwood.open_async(f"sqlite:///{tmp_path}/s.db", search=url) as sessions:
        chat = await sessions.session("chat")
        await chat.append("user", "the lighthouse")
        assert len((await sessions.search("lighthouse")).hits) == 1


def test_the_environment_names_the_index_of_its_store(
    tmp_path: Path, opensearch_url: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_STORE", f"sqlite:///{tmp_path}/s.db")
    monkeypatch.setenv("SAPWOOD_SEARCH", with_parameters(opensearch_url, prefix=prefix))
    with sapwood.open() as sessions:
        assert isinstance(sessions.store, SearchedStore)
        sessions.session("chat").append("user", "the lighthouse")
        assert len(sessions.search("lighthouse").hits) == 1
    with sapwood.open("memory://") as sessions:
        assert isinstance(sessions.store, MemoryStore)


@pytest.mark.parametrize(
    "url",
    [
        "redis://ada:s3cret@host",
        "sqlite:///x.db",
        "s3cret",
        "opensearch://ada:s3cret@host?s3cret=1",
        "opensearch://ada:s3cret@ho st",
        "opensearch://ada:s3cret@host:x",
        "opensearch://host/s3cret",
        "opensearch://host?prefix=S3CRET",
        "opensearch://host?refresh=maybe",
        "opensearch://host?shards=0",
        "opensearch://host?replicas=-1",
    ],
)
def test_rule_15_what_is_no_url_of_an_index_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        sapwood.open("memory://", search=url)
    assert "s3cret" not in str(raised.value)
    assert raised.value.path


def test_a_client_that_was_given_stays_open(tmp_path: Path, prefix: str) -> None:
    client = opensearch.admin()
    inner = SqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id)
    with SearchedStore(inner, OpenSearchIndex(client=client, prefix=prefix)) as store:
        tell(store, m1="the lighthouse")
        assert found(store, "lighthouse") == ["s/m1"]
    assert client.ping()
    with pytest.raises(UsageError):
        OpenSearchIndex()


async def test_a_client_of_a_loop_stays_open(tmp_path: Path, prefix: str) -> None:
    options = opensearch.options_of(opensearch.shared_url() or "")
    async with AsyncOpenSearch(**options) as client:
        inner = AsyncSqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id)
        index = AsyncOpenSearchIndex(client=client, prefix=prefix)
        async with AsyncSearchedStore(inner, index) as store:
            await store.create_session(ADA, NewSession(id="s"))
            await store.append(ADA, "s", [say("m1", "the lighthouse")])
            assert len((await store.search(ADA, Search(text="lighthouse"))).hits) == 1
        assert await client.ping()


def test_several_that_start_at_once_make_one_index(tmp_path: Path, prefix: str) -> None:
    with open_at(tmp_path, prefix) as store:
        tell(store, **{f"m{n}": "the lighthouse" for n in range(40)})
        results: list[int] = []

        def start() -> None:
            with open_at(tmp_path, prefix) as other:
                results.append(len(found(other, "lighthouse")))

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [40] * 4
        assert len(documents(prefix)) == 40
        assert store.admin.check() == []


def make_index(prefix: str, version: int) -> None:
    body = {"mappings": {"_meta": {"sapwood": version}}, "aliases": {f"{prefix}-search": {}}}
    opensearch.admin().indices.create(index=f"{prefix}-search-{version}", body=body)


def test_an_index_of_a_newer_version_is_refused(store: SearchedStore, prefix: str) -> None:
    make_index(prefix, 99)
    tell(store, m1="the lighthouse")
    with pytest.raises(SchemaTooNewError, match="99"):
        found(store, "lighthouse")
    assert [it.id for it in store.read(ADA, "s", Read()).messages_only] == ["m1"]


def test_an_index_of_an_older_version_is_made_anew(store: SearchedStore, prefix: str) -> None:
    make_index(prefix, 0)
    tell(store, m1="the lighthouse")
    assert found(store, "lighthouse") == ["s/m1"]
    assert list(opensearch.admin().indices.get_alias(name=f"{prefix}-search")) == [
        f"{prefix}-search-2"
    ]


# feeding


def test_the_index_holds_words_and_no_text(store: SearchedStore, prefix: str) -> None:
    tell(store, m1="the lighthouse")
    assert found(store, "lighthouse") == ["s/m1"]
    [document] = documents(prefix)
    assert "lighthouse" not in str(document)


def test_what_was_written_before_the_index_was_attached_is_found(
    tmp_path: Path, prefix: str
) -> None:
    with SqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id) as alone:
        tell(alone, m1="lighthouse one", m2="two")
        alone.append(ADA, "s", [say("x1", "lighthouse aside")], parent="m1")
        alone.add_overlay(ADA, "s", cover("m1", "x1", id="o", summary="lighthouses"))
        alone.create_session(ADA, fork_of("s", "x1", id="fork"))
        tell(alone, "fork", f1="lighthouse of a fork")
        alone.delete_session(ADA, "s")
        tell(alone, "s", n1="the lighthouse anew")
    with open_at(tmp_path, prefix) as store:
        assert found(store, "lighthouse*") == ["fork/f1", "fork/m1", "fork/o", "fork/x1", "s/n1"]
        assert found(store, "lighthouse", "fork") == ["fork/f1", "fork/m1", "fork/x1"]
        assert store.admin.check() == []


def test_what_others_stand_on_is_found_though_its_session_went_before_it_was_fed(
    store: SearchedStore,
) -> None:
    """The feed may leave out what a session wrote that is gone."""
    tell(store, "other", x1="harbour")
    assert found(store, "harbour") == ["other/x1"]
    tell(store, m1="lighthouse", m2="lighthouse", m3="lighthouse")
    store.create_session(ADA, fork_of("s", "m2", id="a"))
    tell(store, "a", a1="lighthouse")
    store.create_session(ADA, fork_of("a", "a1", id="b"))
    store.delete_session(ADA, "a")
    assert found(store, "lighthouse") == ["b/a1", "s/m1", "s/m2", "s/m3"]
    store.delete_session(ADA, "s")
    store.finish_deletions()
    assert found(store, "lighthouse") == ["b/a1", "b/m1", "b/m2"]
    assert store.admin.check() == []
    store.delete_session(ADA, "b")
    assert found(store, "lighthouse") == []


def test_what_an_heir_erased_before_it_went_leaves_nothing_in_the_index(
    store: SearchedStore, prefix: str
) -> None:
    """The feed may leave out what a session did that is gone."""
    tell(store, m1="lighthouse", m2="lighthouse")
    store.create_session(ADA, fork_of("s", "m2", id="a"))
    store.create_session(ADA, fork_of("s", "m2", id="b"))
    assert found(store, "lighthouse") == ["s/m1", "s/m2"]
    store.clear_session(ADA, "s")
    assert found(store, "lighthouse") == ["a/m1", "a/m2"]
    assert {it["_source"]["session"] for it in documents(prefix)} == {""}
    store.delete_messages(ADA, "a", ["m1"])
    store.delete_session(ADA, "a")
    store.finish_deletions()
    assert [it["_source"]["id"] for it in documents(prefix)] == ["m2"]
    assert found(store, "lighthouse") == ["b/m2"]
    assert store.admin.check() == []


def test_what_is_deleted_leaves_nothing_in_the_index(store: SearchedStore, prefix: str) -> None:
    tell(store, m1="lighthouse", m2="lighthouse")
    tell(store, "t", m1="lighthouse")
    store.add_overlay(ADA, "s", cover("m1", "m2", id="o", summary="lighthouses"))
    assert found(store, "lighthouse*") == ["s/m1", "s/m2", "s/o", "t/m1"]
    store.delete_messages(ADA, "s", ["m1"])
    store.finish_deletions()
    assert len(documents(prefix)) == 2
    store.delete_session(ADA, "s")
    store.finish_deletions()
    assert [it["_source"]["session"] for it in documents(prefix)] == ["t"]
    assert documents(prefix, "summaries") == []
    store.erase_owner(ADA)
    assert documents(prefix) == documents(prefix, "mark") == []


def test_a_search_that_follows_nothing_new_writes_nothing(
    store: SearchedStore, prefix: str
) -> None:
    tell(store, m1="lighthouse")
    assert found(store, "lighthouse") == ["s/m1"]
    [before] = documents(prefix, "mark")
    assert found(store, "lighthouse") == ["s/m1"]
    assert documents(prefix, "mark") == [before]


def test_an_owner_who_has_nothing_leaves_nothing(store: SearchedStore, prefix: str) -> None:
    assert store.search("nobody", Search(text="lighthouse")).hits == []
    assert documents(prefix, "mark") == []


def test_a_query_of_as_many_words_as_there_may_be_is_asked(store: SearchedStore) -> None:
    tell(store, m1="the lighthouse", m2="w77 w78", m3="w1 w2")
    words = [f"w{n}" for n in range(900)]
    assert found(store, " OR ".join(words)) == ["s/m2", "s/m3"]
    assert found(store, " OR ".join(f"{word}*" for word in words)) == ["s/m2", "s/m3"]
    assert found(store, " OR ".join(f'"{a} {b}"' for a, b in pairwise(words[:660]))) == [
        "s/m2",
        "s/m3",
    ]
    assert found(store, " ".join(words)) == []
    assert found(store, "w1 w2 " + " ".join(f"NOT w{n}" for n in range(10, 900))) == ["s/m3"]


def test_words_longer_than_an_index_takes_are_found(store: SearchedStore) -> None:
    long = "x" * 3_000
    tell(store, m1=f"the {long}", m2=f"the {long}y", m3="部" * 2_000)
    assert found(store, long) == ["s/m1"]
    assert found(store, f"{long}*") == ["s/m1", "s/m2"]
    assert found(store, f"the NOT {long}") == ["s/m2"]
    assert found(store, "部" * 300) == ["s/m3"]


def test_a_message_that_cannot_be_decoded_is_passed_over(tmp_path: Path, prefix: str) -> None:
    import apsw

    with open_at(tmp_path, prefix) as store:
        tell(store, m1="lighthouse", m2="lighthouse", m3="lighthouse")
        raw = apsw.Connection(str(tmp_path / "s.db"))
        raw.execute("UPDATE message SET body = x'7b' WHERE id = 'm2'")
        raw.close()
        assert found(store, "lighthouse") == ["s/m1", "s/m3"]
        with pytest.raises(StoreCorruptError):
            store.read(ADA, "s", Read())


def test_a_search_with_refresh_off_finds_what_was_written_in_the_end(
    tmp_path: Path, prefix: str
) -> None:
    inner = SqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id)
    index = OpenSearchIndex(opensearch.shared_url(), prefix=prefix, refresh=False)
    with SearchedStore(inner, index) as store:
        tell(store, m1="lighthouse")
        found(store, "lighthouse")
        opensearch.admin().indices.refresh(index=f"{prefix}-search")
        assert found(store, "lighthouse") == ["s/m1"]


# what is lost


def test_what_was_never_searched_is_not_missing(store: SearchedStore) -> None:
    tell(store, m1="lighthouse")
    assert store.search("nobody", Search(text="lighthouse")).hits == []
    assert store.admin.check() == []


def furnish(store: SearchedStore) -> None:
    tell(store, m1="lighthouse", m2="lighthouse", m3="lighthouse")
    store.add_overlay(ADA, "s", cover("m1", "m2", id="o", summary="lighthouses"))
    assert len(found(store, "lighthouse*")) == 4
    assert store.admin.check() == []


def test_a_lost_mark_is_told_and_read_anew(store: SearchedStore, prefix: str) -> None:
    furnish(store)
    remove(prefix, "mark")
    assert whats(store) == ["the search index lacks its 3 messages"]
    store.delete_messages(ADA, "s", ["m3"])
    assert found(store, "lighthouse") == ["s/m1", "s/m2"]
    assert len(documents(prefix)) == 2
    assert store.admin.check() == []


def test_a_removed_index_is_told_and_made_anew(store: SearchedStore, prefix: str) -> None:
    furnish(store)
    opensearch.admin().indices.delete(index=f"{prefix}-search-2")
    assert whats(store) == ["the search index lacks its 3 messages"]
    tell(store, m4="lighthouse")
    assert found(store, "lighthouse") == ["s/m1", "s/m2", "s/m3", "s/m4"]
    assert found(store, "lighthouses") == ["s/o"]
    assert store.admin.check() == []


def test_what_is_missing_or_too_much_is_told_and_repaired(
    store: SearchedStore, prefix: str
) -> None:
    furnish(store)
    [first, *_] = documents(prefix)
    client = opensearch.admin()
    body = {**first["_source"], "id": "ghost", "key": "ghost"}
    where = {"index": f"{prefix}-search", "routing": first["_routing"], "refresh": True}
    client.index(id="ghost", body=body, **where)
    client.delete(id=first["_id"], **where)
    remove(prefix, "summaries")
    assert whats(store) == [
        "1 messages are not in the search index",
        "1 messages are gone and still indexed",
        "the summaries of 1 session are not as indexed",
    ]
    assert len(found(store, "lighthouse*")) == 2
    assert store.admin.repair() == []
    assert len(found(store, "lighthouse*")) == 4
    assert store.admin.check() == []


def test_an_edit_that_was_not_indexed_is_told_and_repaired(
    store: SearchedStore, prefix: str
) -> None:
    furnish(store)
    store.update_message(ADA, "s", say("m1", "harbour"))
    assert store.admin.check() == []
    [old] = [it for it in documents(prefix) if it["_source"]["id"] == "m1"]
    assert found(store, "harbour") == ["s/m1"]
    where = {"index": f"{prefix}-search", "routing": old["_routing"], "refresh": True}
    opensearch.admin().index(id=old["_id"], body=old["_source"], **where)
    assert whats(store) == ["1 messages are indexed as they were before"]
    assert store.admin.repair() == []
    assert found(store, "harbour") == ["s/m1"]


def test_an_owner_of_whom_only_the_index_knows_is_told_and_removed(
    store: SearchedStore, prefix: str
) -> None:
    furnish(store)
    store._store.erase_owner(ADA)
    store._store.finish_deletions()
    assert whats(store) == ["it is gone and still indexed"]
    assert store.admin.repair() == []
    assert documents(prefix) == documents(prefix, "mark") == documents(prefix, "summaries") == []


def test_the_doctor_repairs_an_index(tmp_path: Path, prefix: str, opensearch_url: str) -> None:
    with open_at(tmp_path, prefix) as store:
        furnish(store)
    remove(prefix, "message")
    sapwood = Command(tmp_path, f"sqlite:///{tmp_path}/s.db")
    search = ["--search", with_parameters(opensearch_url, prefix=prefix)]
    told = sapwood.run("doctor", *search)
    assert told.returncode == 10
    assert "3 messages are not in the search index" in told.stdout
    assert sapwood.run("doctor", "--repair", *search).returncode == 0
    with open_at(tmp_path, prefix) as store:
        assert found(store, "lighthouse") == ["s/m1", "s/m2", "s/m3"]


async def test_the_async_twin_checks_and_repairs(
    async_store: AsyncSearchedStore, prefix: str
) -> None:
    store = async_store
    await store.create_session(ADA, NewSession(id="s"))
    await store.append(ADA, "s", [say("m1", "lighthouse"), say("m2", "harbour")])
    await store.finish_deletions()
    assert await store.admin.check() == []
    remove(prefix, "message")
    [problem] = await store.admin.check()
    assert (problem.kind, problem.where) == ("index", f"owner {ADA}")
    assert await store.admin.repair() == []
    assert len((await store.search(ADA, Search(text="lighthouse"))).hits) == 1


class Flaky(SqliteStore):
    """A store that is gone for a moment after a session was made."""

    is_gone = False

    def create_session(self, owner: str, session: NewSession) -> SessionRecord:
        made = super().create_session(owner, session)
        self.is_gone = session.fork is not None
        return made

    def list_overlays(self, owner: str, session: str) -> list[Overlay]:
        if self.is_gone:
            self.is_gone = False
            raise StoreUnavailableError("gone for a moment")
        return super().list_overlays(owner, session)


def test_a_fork_that_was_made_is_told_so_whatever_comes_after(tmp_path: Path, prefix: str) -> None:
    inner = Flaky(tmp_path / "s.db", clock=clock, new_id=new_id)
    with SearchedStore(inner, OpenSearchIndex(opensearch.shared_url(), prefix=prefix)) as store:
        tell(store, a="one", b="two", c="three")
        store.add_overlay(ADA, "s", cover("a", "b", id="o", summary="the lighthouse"))
        assert store.create_session(ADA, fork_of("s", "c")).id == "fork"
        assert found(store, "lighthouse", "fork") == ["fork/o"]
