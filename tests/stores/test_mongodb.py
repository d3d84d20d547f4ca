"""What the MongoDB store has of its own: clients, names, round trips, what erasing leaves."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient, monitoring
from pymongo.errors import OperationFailure
from servers import mongodb
from servers.url import with_parameters

import sapwood
from sapwood.errors import StoreCorruptError, StoreError, StoreUnavailableError, UsageError
from sapwood.model import NewSession, Read, Usage
from sapwood.rules.ids import IdMaker
from sapwood.stores.mongodb import AsyncMongoStore, MongoStore
from sapwood.stores.mongodb.failure import translate
from sapwood.stores.recordlog.log_documents import LogDocument, LogKind, record_key
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


class Commands(monitoring.CommandListener):
    """The commands that a client sent."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.names.append(event.command_name)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Take no note."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Take no note."""


@pytest.fixture
def commands() -> Commands:
    return Commands()


@pytest.fixture
def store(mongodb_url: str, commands: Commands) -> Iterator[MongoStore]:
    mongodb.empty()
    client: MongoClient[Any] = MongoClient(mongodb_url, event_listeners=[commands], tz_aware=True)
    with client, MongoStore(client=client, database=mongodb.database(), new_id=new_id) as store:
        yield store


@pytest.fixture
async def async_store(mongodb_url: str, commands: Commands) -> AsyncIterator[AsyncMongoStore]:
    mongodb.empty()
    client: AsyncMongoClient[Any] = AsyncMongoClient(
        mongodb_url, event_listeners=[commands], tz_aware=True
    )
    async with (
        client,
        AsyncMongoStore(client=client, database=mongodb.database(), new_id=new_id) as store,
    ):
        yield store


def stored(name: str = "records") -> list[dict[str, Any]]:
    return list(mongodb.client()[mongodb.database()][f"sapwood_{name}"].find({}))


def test_an_append_is_one_create_and_one_look_up_more_for_a_clients_id(
    store: MongoStore, commands: Commands
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(None, "first")])
    for message, sent in ((say(None, "x"), ["insert"]), (say("m1"), ["find", "insert"])):
        commands.names.clear()
        store.append(ADA, "s", [message])
        assert commands.names == sent


def test_rule_03_an_appends_commands_do_not_depend_on_the_length_of_the_history(
    store: MongoStore, commands: Commands
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    sent = []
    for batch in (1, 400):
        store.append(ADA, "s", [say(None, "x") for _ in range(batch)])
        commands.names.clear()
        for _ in range(100):
            store.append(ADA, "s", [say(None, "x")])
        sent.append(len(commands.names))
    # One for each, and two more for each page.
    assert max(sent) <= 110


def test_rule_04_a_history_is_two_commands_and_its_end_one(
    store: MongoStore, commands: Commands
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    for n in range(150):
        store.append(ADA, "s", [say(None, str(n))])
    commands.names.clear()
    assert len(store.read(ADA, "s", Read()).messages_only) == 150
    assert commands.names == ["find", "find"]
    store.append(ADA, "s", [say(None, str(n)) for n in range(60)])
    commands.names.clear()
    end = store.read(ADA, "s", Read(limit=50, backwards=True))
    assert [it.text for it in end.messages_only] == [str(n) for n in range(10, 60)]
    # FerretDB finds one by its name and not a list: that is one command in MongoDB.
    assert set(commands.names) == {"find"}
    assert len(commands.names) <= 2


async def test_appends_to_several_sessions_go_out_together(
    async_store: AsyncMongoStore, commands: Commands
) -> None:
    import asyncio

    for n in range(32):
        await async_store.create_session(ADA, NewSession(id=f"s{n}"))
    commands.names.clear()
    done = await asyncio.gather(
        *(async_store.append(ADA, f"s{n}", [say(None, "x")]) for n in range(32))
    )
    assert [it.written for it in done] == [1] * 32
    assert len(commands.names) <= 16


def test_a_client_that_was_given_is_left_open(mongodb_url: str) -> None:
    with MongoClient[dict[str, Any]](mongodb_url, tz_aware=True) as client:
        with MongoStore(client=client, database=mongodb.database(), new_id=new_id) as store:
            assert store.admin.health().store == "mongodb"
        assert client.admin.command("ping")["ok"] == 1


def test_sessions_open_by_url_under_names_of_ones_own(mongodb_url: str) -> None:
    mongodb.empty("of_ones_own_")
    url = with_parameters(mongodb.url_of_database(mongodb_url), prefix="of_ones_own_")
    with sapwood.open(url, owner="ada") as sessions:
        chat = sessions.session("chat", title="with a \0 in it")
        chat.append("user", "Where is my order?")
        assert [it.text for it in chat.history().messages_only] == ["Where is my order?"]
        sessions.store.finish_deletions()
    names = mongodb.client()[mongodb.database()].list_collection_names()
    assert {f"of_ones_own_{it}" for it in ("records", "entries", "lookups", "schema")} <= {*names}


@pytest.mark.parametrize("name", ["", "a.b", "x$", "é", "x" * 61])
def test_rule_15_names_that_are_none_are_refused(name: str) -> None:
    for option in ({"prefix": name}, {"database": name or "a b"}):
        with pytest.raises(UsageError):
            MongoStore("mongodb://localhost", new_id=new_id, **option)
    with pytest.raises(UsageError):
        MongoStore(new_id=new_id)


def test_every_document_has_its_tree_in_its_name_and_as_a_field(store: MongoStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2")])
    store.create_session(ADA, fork_of("s", "m1"))
    store.append(ADA, "fork", [say("f1")])
    store.finish_deletions()
    for name in ("records", "entries", "lookups"):
        found = stored(name)
        assert found
        assert all(it["_id"].startswith(f"{it['tree']}/") for it in found)
    assert len({it["tree"] for it in stored()}) == 1


def _has_name(data: bytes) -> bool:
    """Whether the owner or the fork is named: as a whole text, since an id has "ada" by chance."""
    return b"\xa3ada" in data or b"fork" in data


def test_what_was_erased_is_in_no_document_after_it(store: MongoStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1", "a secret"), say("m2", "kept")])
    store.append(ADA, "s", [say("m3", "a secret too")])
    store.put_document(ADA, "k", b"a secret", session="s")
    store.update_message(ADA, "s", say("m3", "said otherwise"))
    store.delete_messages(ADA, "s", ["m1"])
    store.put_document(ADA, "k", b"plain", session="s")
    store.finish_deletions()
    assert any(_has_name(it["data"]) for it in stored())
    assert not any(b"secret" in it["data"] for it in stored())
    assert [it.text for it in store.read(ADA, "s", Read()).messages_only] == [
        "kept",
        "said otherwise",
    ]
    store.create_session(ADA, fork_of("s", "m2"))
    store.delete_session(ADA, "s")
    store.finish_deletions()
    assert not any(b"said otherwise" in it["data"] for it in stored())
    assert shown(store.read(ADA, "fork", Read())) == ["m2"]
    store.delete_session(ADA, "fork")
    store.finish_deletions()
    assert not any(b"kept" in it["data"] or b"plain" in it["data"] for it in stored())
    assert not any(b"plain" in it["data"] for it in stored("lookups"))
    assert not any(_has_name(it["data"]) for it in stored())


def test_damage_to_look_ups_is_found_and_repaired(store: MongoStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2")])
    store.add_usage(ADA, "s", Usage(id="u"))
    store.add_overlay(ADA, "s", cover("m1", "m1", id="o"))
    store.finish_deletions()
    assert store.admin.check() == []
    mongodb.client()[mongodb.database()]["sapwood_lookups"].delete_many({})
    assert {problem.kind for problem in store.admin.check()} == {"id"}
    assert store.admin.repair() == []
    assert [it and it.id for it in store.find_messages(ADA, "s", ["m1", "m2"])] == ["m1", "m2"]


def test_rule_08_a_record_that_cannot_be_decoded_is_told(store: MongoStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")])
    records = mongodb.client()[mongodb.database()]["sapwood_records"]
    records.update_one({"last": 1}, {"$set": {"data": b"x"}})
    with pytest.raises(StoreCorruptError):
        store.read(ADA, "s", Read())
    assert [problem.kind for problem in store.admin.check()] == ["session"]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_time_is_the_servers_wherever_the_client_is(
    store: MongoStore, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        record = store.create_session(ADA, NewSession(id="s"))
    finally:
        monkeypatch.undo()
        time.tzset()
    server = mongodb.client().admin.command("hello")["localTime"].replace(tzinfo=UTC)
    assert abs((server - record.created_at).total_seconds()) < 60


async def test_a_record_that_arrives_as_the_last_sender_ends_is_sent() -> None:
    from sapwood.stores.recordlog import record_sender

    async def send(documents: Sequence[LogDocument]) -> Sequence[bool]:
        return [True] * len(documents)

    gathered = record_sender.AsyncRecordSender(send)
    document = LogDocument(kind=LogKind.RECORD, id="t/l/1", shard="t", data=b"")

    async def add_often() -> None:
        for _ in range(50):
            assert await gathered.add(document)

    async with asyncio.timeout(20):
        await asyncio.gather(*(add_often() for _ in range(8)))


def test_what_was_emptied_is_not_put_back_by_one_who_read_it_before(
    store: MongoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2", "secret")])
    log: Any = store._runner.here().logs.driver
    put, client = log.put, log._client

    def late(documents: Sequence[LogDocument]) -> None:
        monkeypatch.setattr(log, "put", put)
        with MongoStore(client=client, database=mongodb.database(), new_id=new_id) as other:
            other.delete_session(ADA, "s")
        put(documents)

    monkeypatch.setattr(log, "put", late)
    store.update_message(ADA, "s", say("m1", "other words"))
    store.finish_deletions()
    assert b"secret" not in b"".join(it["data"] for it in stored())


async def test_a_record_that_is_refused_does_not_fail_those_that_go_out_with_it(
    async_store: AsyncMongoStore,
) -> None:
    await async_store.admin.migrate()
    log = async_store._runner.here().logs.driver

    def record(id: Any) -> LogDocument:
        return LogDocument(kind=LogKind.RECORD, id=id, shard="t", data=b"x", log="l", n=1)

    # No server takes a list for a name.
    sent = [record("t/l/1"), record(["t/l/2"]), record("t/l/3"), record("t/l/1")]
    told = await asyncio.gather(*(log.create(it) for it in sent), return_exceptions=True)
    assert told[0::2] == [True, True]
    assert told[3] is False
    assert isinstance(told[1], StoreError)
    assert len(stored()) == 2


def test_any_number_of_names_is_asked_for_and_emptied(store: MongoStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    log = store._runner.here().logs.driver
    names = [record_key("t" * 30, "l" * 30, n) for n in range(200_000)]
    log.create(LogDocument(kind=LogKind.RECORD, id=names[-1].id, shard="t" * 30, data=b"x"))
    found = log.get(names)
    assert [it is not None for it in found[-2:]] == [False, True]
    log.blank(names)
    log.delete(names)
    assert log.get(names[-1:]) == [None]


def test_a_client_that_was_used_on_another_loop_is_told_in_our_words(mongodb_url: str) -> None:
    client: AsyncMongoClient[Any] = AsyncMongoClient(mongodb_url)
    store = AsyncMongoStore(client=client, database=mongodb.database(), new_id=new_id)

    async def find() -> None:
        await store.find_session(ADA, "nobody")

    with asyncio.Runner() as first:
        first.run(client.aconnect())
        with asyncio.Runner() as second, pytest.raises(UsageError, match="event loop"):
            second.run(find())
        first.run(client.aclose())


@pytest.mark.parametrize("code", [6, 7, 89, 91, 189, 262, 9001, 10107, 11600])
def test_what_a_router_cannot_reach_may_be_tried_again(code: int) -> None:
    error = translate(OperationFailure("lost", code), "MongoDB", 1)
    assert isinstance(error, StoreUnavailableError)
    assert error.retryable
