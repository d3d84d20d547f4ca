"""Connections that are cut, answers that are lost, users that are refused, and what is too much."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from servers.mariadb import MariaDbServer
from servers.proxy import Proxy
from sqlalchemy import event

from sapwood.errors import (
    MessageTooLargeError,
    ReadOnlyError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from sapwood.model import DocumentPut, SessionPatch

from ..tried import tried
from .support import (
    ADA,
    ids_in,
    lose_commits,
    make_session,
    open_async_store,
    open_store,
    say,
)


def test_a_cut_connection_is_replaced_within_the_call(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        for n in range(3):
            proxy.cut()
            store.append(ADA, "s", [say(f"m{n}")])
            proxy.cut()
            assert ids_in(store) == [f"m{k}" for k in range(n + 1)]
            proxy.cut()
            store.put_document(ADA, "k", b"", session="s")
            tried("MariaDB", "connection cut", 3)


async def test_the_async_twin_replaces_a_cut_connection(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as other:
        make_session(other)
    async with open_async_store(proxied, prefix) as store:
        for n in range(3):
            proxy.cut()
            done = await store.append(ADA, "s", [say(f"m{n}")])
            assert done.messages[0].depth == n + 1
            tried("MariaDB", "connection cut")


@pytest.mark.parametrize("id", ["m1", None])
@pytest.mark.parametrize("count", [1, 2])
def test_rule_02_an_append_whose_answer_was_lost_is_written_once(
    proxy: Proxy, proxied: str, prefix: str, id: str | None, count: int
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        if count == 1:
            # One message is written and committed in one round trip.
            proxy.swallow_next_answer()
        else:
            lose_commits(store, proxy)
        done = store.append(ADA, "s", [say(id), say(None)][:count])
        assert len(done.messages) == count
        assert proxy.swallowed == 1
        assert len(ids_in(store)) == 1 + count
        assert store.admin.check() == []
        tried("MariaDB", "duplicate delivery after a lost answer")


@pytest.mark.parametrize("id", ["m1", None])
def test_rule_02_what_came_along_with_an_append_whose_answer_was_lost_is_done_once(
    proxy: Proxy, proxied: str, prefix: str, id: str | None
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        lose_commits(store, proxy)
        put = DocumentPut(key="k", value=b"v", expected_version=0)
        patch = SessionPatch(title="t")
        done = store.append(ADA, "s", [say(id)], expected_version=1, documents=[put], patch=patch)
        assert proxy.swallowed == 1
        found, record = store.find_document(ADA, "k", session="s"), store.find_session(ADA, "s")
        assert found is not None
        assert record is not None
        assert (done.written, done.documents) == (0 if id else 1, {"k": found.version})
        assert (record.title, record.version, record.messages) == ("t", 2, 1)
        assert store.admin.check() == []


def test_a_commit_whose_answer_was_lost_is_told_and_not_repeated(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        lose_commits(store, proxy)
        with pytest.raises(StoreUnavailableError) as caught:
            store.put_document(ADA, "k", b"v", session="s")
        assert caught.value.retryable
        found = store.find_document(ADA, "k", session="s")
        assert found is not None
        assert found.value == b"v"


def test_wrong_credentials_do_not_show_the_password(server: MariaDbServer, prefix: str) -> None:
    url = server.url(user="needs_password:s3cret")
    with open_store(url, prefix) as store, pytest.raises(StoreError, match="password") as caught:
        store.find_session(ADA, "s")
    assert not caught.value.retryable
    shown = "".join(map(str, (caught.value, caught.value.__cause__, repr(caught.value))))
    assert "s3cret" not in shown
    with open_store(server.url(user="needs_password:right"), prefix) as store:
        make_session(store)
    tried("MariaDB", "wrong credentials")


def test_a_database_that_is_not_there_is_told(server: MariaDbServer, prefix: str) -> None:
    store = open_store(server.url(database="nope"), prefix)
    with store, pytest.raises(StoreError, match="nope") as caught:
        store.find_session(ADA, "s")
    assert not caught.value.retryable


DRY = {"most_connections": 1, "patience_s": 0.2}


def test_a_pool_run_dry_is_busy_and_works_again(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix, **DRY) as store:
        make_session(store)
        with store._runner.here()._engine.connect():
            with pytest.raises(StoreBusyError) as caught:
                store.append(ADA, "s", [say("m1")])
            assert caught.value.retryable
        assert store.append(ADA, "s", [say("m1")]).written == 1
        assert ids_in(store) == ["m1"]
    tried("MariaDB", "pool run dry")


async def test_a_pool_run_dry_on_a_loop_is_busy_and_works_again(
    server: MariaDbServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as other:
        make_session(other)
    async with open_async_store(server.url(), prefix, **DRY) as store:
        await store.find_session(ADA, "s")
        async with store._runner.here()._engine.connect():
            with pytest.raises(StoreBusyError) as caught:
                await store.append(ADA, "s", [say("m1")])
            assert caught.value.retryable
        assert (await store.append(ADA, "s", [say("m1")])).written == 1
    tried("MariaDB", "pool run dry")


def test_a_lock_that_is_held_for_too_long_is_busy(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix, patience_s=1) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        with server.connect() as raw, raw.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"SELECT * FROM {prefix}session FOR UPDATE")
            with pytest.raises(StoreBusyError) as caught:
                store.append(ADA, "s", [say("m2")])
            cursor.execute("ROLLBACK")
        assert caught.value.retryable
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


def test_a_statement_that_the_server_stops_is_busy(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])

        def hurry(conn: Any, *details: object) -> None:
            conn.connection.cursor().execute("SET SESSION max_statement_time = 0.3")

        event.listen(store._runner.here()._engine, "begin", hurry)
        with server.connect() as raw, raw.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"SELECT * FROM {prefix}session FOR UPDATE")
            with pytest.raises(StoreBusyError) as caught:
                store.append(ADA, "s", [say("m2")])
            cursor.execute("ROLLBACK")
        assert caught.value.retryable


@pytest.mark.parametrize("count", [1, 2])
def test_a_statement_that_is_killed_is_busy(server: MariaDbServer, prefix: str, count: int) -> None:
    with open_store(server.url(), prefix) as store, server.connect() as raw:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        cursor = raw.cursor()
        cursor.execute("BEGIN")
        cursor.execute(f"SELECT * FROM {prefix}session FOR UPDATE")
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(store.append, ADA, "s", [say("m2"), say("m3")][:count])
            while not waiting.done():
                cursor.execute(
                    "SELECT id FROM information_schema.processlist"
                    f" WHERE command = 'Query' AND info LIKE '%{prefix}session%'"
                    " AND id <> connection_id()"
                )
                for (id,) in cursor.fetchall():
                    cursor.execute(f"KILL QUERY {id}")
        cursor.execute("ROLLBACK")
        error = waiting.exception()
        assert isinstance(error, StoreBusyError)
        assert error.retryable
        store.append(ADA, "s", [say("m2"), say("m3")][:count])
        assert ids_in(store) == ["m1", "m2", "m3"][: count + 1]


def test_a_table_that_is_changed_while_it_is_read_is_read_again(
    server: MariaDbServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1"), say("m2")])
        changed: list[object] = []

        def change(*args: object) -> None:
            if "SELECT" in str(args[2]) and not changed:
                changed.append(args)
                with server.connect() as raw, raw.cursor() as cursor:
                    cursor.execute(f"ALTER TABLE {prefix}segment ADD COLUMN x INT, ALGORITHM=COPY")

        event.listen(store._runner.here()._engine, "after_cursor_execute", change)
        assert [leaf.id for leaf in store.list_leaves(ADA, "s")] == ["m2"]
        assert changed


def test_a_message_over_the_servers_limit_is_told_and_nothing_is_written(
    server: MariaDbServer, prefix: str
) -> None:
    with server.connect() as raw, raw.cursor() as cursor:
        cursor.execute("SET GLOBAL max_allowed_packet = 1048576")
    try:
        with open_store(server.url(), prefix) as store:
            make_session(store)
            store.append(ADA, "s", [say("m1")])
            with pytest.raises(MessageTooLargeError, match="max_allowed_packet"):
                store.append(ADA, "s", [say("big", "x" * 2_000_000)])
            with pytest.raises(MessageTooLargeError, match="max_allowed_packet"):
                store.update_message(ADA, "s", say("m1", "x" * 2_000_000))
            with pytest.raises(MessageTooLargeError, match="max_allowed_packet"):
                store.update_session(ADA, "s", SessionPatch(attributes={"k": "x" * 2_000_000}))
            store.append(ADA, "s", [say("m2")])
            assert ids_in(store) == ["m1", "m2"]
        tried("MariaDB", "payload over the limit", 3)
    finally:
        with server.connect() as raw, raw.cursor() as cursor:
            cursor.execute("SET GLOBAL max_allowed_packet = 16777216")


def test_a_user_who_may_only_read_is_told_so(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
    with server.connect() as raw, raw.cursor() as cursor:
        cursor.execute(f"CREATE USER '{prefix}'@'%'")
        cursor.execute(f"GRANT SELECT ON sapwood.* TO '{prefix}'@'%'")
    with open_store(server.url(user=prefix), prefix) as store:
        assert ids_in(store) == ["m1"]
        with pytest.raises(ReadOnlyError):
            store.append(ADA, "s", [say("m2")])
