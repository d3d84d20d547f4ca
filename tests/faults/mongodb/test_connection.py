"""Connections that are cut, answers that are lost, and clients that are refused."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pymongo import MongoClient
from servers.mongodb import FerretServer
from servers.proxy import Proxy

from sapwood.errors import (
    ClosedError,
    MessageTooLargeError,
    MigrationNeededError,
    SchemaTooNewError,
    StaleVersionError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    UsageError,
)
from sapwood.model import Read
from sapwood.testing import ManualClock
from sapwood.testing.makers import ids_told

from ..tried import tried
from .support import ADA, ids_in, make_session, open_async_store, open_store, say


def test_a_cut_connection_is_replaced_within_the_call(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database) as store:
        make_session(store)
        for n in range(3):
            proxy.cut()
            store.append(ADA, "s", [say(f"m{n}")])
            proxy.cut()
            assert ids_in(store) == [f"m{k}" for k in range(n + 1)]
            proxy.cut()
            store.put_document(ADA, "k", b"", session="s")
            tried("MongoDB", "connection cut", 3)


def test_rule_02_an_append_whose_answer_was_lost_is_written_once(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        for n in range(2):
            proxy.swallow_next_answer()
            done = store.append(ADA, "s", [say(None, str(n)), say(None)])
            assert (done.written, len(done.messages)) == (2, 2)
            tried("MongoDB", "duplicate delivery after a lost answer")
        assert proxy.swallowed == 2
        assert len(ids_in(store)) == 5


def test_a_document_whose_answer_was_lost_is_put_once(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database) as store:
        make_session(store)
        proxy.swallow_next_answer()
        put = store.put_document(ADA, "k", b"v", session="s", expected_version=0)
        assert proxy.swallowed == 1
        tried("MongoDB", "duplicate delivery after a lost answer")
        assert store.find_document(ADA, "k", session="s") == put
        with pytest.raises(StaleVersionError):
            store.put_document(ADA, "k", b"w", session="s", expected_version=0)


def test_a_server_that_does_not_answer_in_time_is_told(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database, patience_s=1, answer_within_s=0.5) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        proxy.hold()
        with pytest.raises(StoreUnavailableError) as caught:
            store.append(ADA, "s", [say("m2")])
        assert caught.value.retryable
        tried("MongoDB", "time-out")
        proxy.release()
        # It may have been written before the time was over: by its id, it is there once.
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


def test_what_the_url_says_counts_for_more_than_our_defaults(proxy: Proxy, database: str) -> None:
    url = f"mongodb://127.0.0.1:{proxy.port}/?directConnection=true&socketTimeoutMS=500"
    with open_store(url, database, patience_s=1) as store:
        make_session(store)
        proxy.hold()
        with pytest.raises(StoreUnavailableError):
            store.append(ADA, "s", [say("m1")])
        proxy.release()


def test_wrong_credentials_do_not_show_the_password(server: FerretServer, database: str) -> None:
    url = server.url().replace("mongodb://", "mongodb://ada:s3cret@")
    with (
        open_store(f"{url}?authMechanism=SCRAM-SHA-256", database, patience_s=1) as store,
        pytest.raises(StoreError, match="password") as caught,
    ):
        store.find_session(ADA, "s")
    assert not caught.value.retryable
    tried("MongoDB", "wrong credentials")
    shown = "".join(map(str, (caught.value, caught.value.__cause__, repr(caught.value))))
    assert "s3cret" not in shown
    with pytest.raises(UsageError) as wrong:
        open_store("mongodb://ada:s3cret@host:port:s3cret", database)
    assert "s3cret" not in str(wrong.value)
    assert wrong.value.__suppress_context__


def test_what_is_over_the_servers_limit_is_refused_before_it_is_sent(
    server: FerretServer, database: str
) -> None:
    with open_store(server.url(), database) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        big = "x" * (6 * 1024 * 1024)
        with pytest.raises(MessageTooLargeError, match="smaller batches"):
            store.append(ADA, "s", [say(f"b{n}", big) for n in range(3)])
        with pytest.raises(MessageTooLargeError):
            store.append(ADA, "s", [say("b", big + big)])
        tried("MongoDB", "payload over the limit", 2)
        assert ids_in(store) == ["m1"]
        assert store.append(ADA, "s", [say("b0", big)]).written == 1


def test_a_clock_that_goes_backwards_changes_no_order(server: FerretServer, database: str) -> None:
    clock = ManualClock()
    with open_store(server.url(), database, clock=clock) as store:
        make_session(store)
        for n in range(5):
            store.append(ADA, "s", [say(f"m{n}")])
            clock.advance(-3600)
            tried("MongoDB", "clock that goes backwards")
        assert ids_in(store) == [f"m{n}" for n in range(5)]
        assert ids_told(store.changes(ADA)) == [f"m{n}" for n in range(5)]


def test_a_newer_schema_is_refused_and_not_touched(server: FerretServer, database: str) -> None:
    with open_store(server.url(), database) as store:
        make_session(store)
    with MongoClient[dict[str, object]](server.url()) as raw:
        raw[database]["sapwood_schema"].insert_one({"_id": 99})
        with open_store(server.url(), database) as store:
            for call in (lambda: store.find_session(ADA, "s"), store.admin.migrate):
                with pytest.raises(SchemaTooNewError, match="99"):
                    call()
        tried("MongoDB", "schema from a newer version")
        assert raw[database]["sapwood_entries"].count_documents({}) == 1


def test_without_auto_migrate_nothing_is_made_until_it_is_asked_for(
    server: FerretServer, database: str
) -> None:
    with (
        open_store(server.url(), database, auto_migrate=False) as store,
        MongoClient[dict[str, object]](server.url()) as raw,
    ):
        with pytest.raises(MigrationNeededError):
            store.find_session(ADA, "s")
        assert raw[database].list_collection_names() == []
        assert store.admin.migrate() == 1
        make_session(store)
    with pytest.raises(ClosedError):
        store.find_session(ADA, "s")


def test_a_pool_run_dry_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database, patience_s=0.5, most_connections=1) as store:
        for session in ("s", "t"):
            make_session(store, session)
        store.append(ADA, "s", [say("m0")])
        proxy.hold()
        with ThreadPoolExecutor(1) as pool:
            # It has the one connection, and waits for an answer.
            held = pool.submit(store.append, ADA, "s", [say("m1")])
            while not held.running():
                time.sleep(0.01)
            time.sleep(0.2)
            with pytest.raises(StoreBusyError) as caught:
                store.append(ADA, "t", [say("m1")])
            assert caught.value.retryable
            tried("MongoDB", "pool run dry")
            proxy.release()
            assert held.result(30).written == 1
        assert store.append(ADA, "t", [say("m1")]).written == 1
        assert (ids_in(store, "s"), ids_in(store, "t")) == (["m0", "m1"], ["m1"])


async def test_a_pool_run_dry_on_a_loop_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database) as other:
        for session in ("s", "t"):
            make_session(other, session)
    async with open_async_store(proxied, database, patience_s=0.5, most_connections=1) as store:
        for session in ("s", "t"):
            await store.append(ADA, session, [say("m0")])
        proxy.hold()
        held = asyncio.create_task(store.append(ADA, "s", [say("m1")]))
        await asyncio.sleep(0.2)
        with pytest.raises(StoreBusyError) as caught:
            await store.append(ADA, "t", [say("m1")])
        assert caught.value.retryable
        tried("MongoDB", "pool run dry")
        proxy.release()
        assert (await held).written == 1
        assert (await store.append(ADA, "t", [say("m1")])).written == 1
        for session in ("s", "t"):
            history = await store.read(ADA, session, Read())
            assert [it.id for it in history.messages_only] == ["m0", "m1"]
