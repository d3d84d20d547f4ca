"""Connections that are cut, answers that are lost, and users that are refused."""

from __future__ import annotations

import pytest
from servers.postgres import PostgresServer
from servers.proxy import Proxy

from sapwood.errors import (
    ReadOnlyError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    UsageError,
)

from .support import ADA, ids_in, make_session, open_async_store, open_store, say


def test_a_cut_connection_is_replaced_within_the_call(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema) as store:
        make_session(store)
        for n in range(3):
            proxy.cut()
            store.append(ADA, "s", [say(f"m{n}")])
            proxy.cut()
            assert ids_in(store) == [f"m{k}" for k in range(n + 1)]
            proxy.cut()
            store.put_document(ADA, "k", b"", session="s")


def test_rule_02_an_append_whose_answer_was_lost_is_written_once(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        for id in ("m1", None):
            proxy.swallow_next_answer()
            done = store.append(ADA, "s", [say(id), say(None)])
            assert len(done.messages) == 2
        assert proxy.swallowed == 2
        assert len(ids_in(store)) == 5


def test_a_commit_whose_answer_was_lost_is_told_and_not_repeated(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema) as store:
        make_session(store)
        tx_commits = []
        original = store._runner._attempt

        def attempt(go, may_repeat=lambda: True):  # type: ignore[no-untyped-def]
            def watched(raw):  # type: ignore[no-untyped-def]
                execute = raw.execute

                def spy(query, *args, **options):  # type: ignore[no-untyped-def]
                    if query == "COMMIT":
                        tx_commits.append(query)
                        proxy.swallow_next_answer()
                    return execute(query, *args, **options)

                raw.execute = spy
                try:
                    return go(raw)
                finally:
                    del raw.execute

            return original(watched, may_repeat)

        store._runner._attempt = attempt  # type: ignore[method-assign]
        with pytest.raises(StoreUnavailableError) as caught:
            store.put_document(ADA, "k", b"v", session="s")
        store._runner._attempt = original  # type: ignore[method-assign]
        assert caught.value.retryable
        assert tx_commits == ["COMMIT"]
        found = store.find_document(ADA, "k", session="s")
        assert found is not None
        assert found.value == b"v"


def test_wrong_credentials_do_not_show_the_password(server: PostgresServer, schema: str) -> None:
    url = server.url(user="needs_password:s3cret")
    with open_store(url, schema) as store, pytest.raises(StoreUnavailableError) as caught:
        store.find_session(ADA, "s")
    shown = "".join(map(str, (caught.value, caught.value.__cause__, repr(caught.value))))
    assert "s3cret" not in shown
    with pytest.raises(UsageError) as wrong:
        open_store("postgresql://ada:s3cret@host/x?s3cret=1", schema)
    assert "s3cret" not in str(wrong.value)
    assert wrong.value.__suppress_context__


def test_a_database_that_is_not_there_is_told(server: PostgresServer, schema: str) -> None:
    store = open_store(server.url(database="nope"), schema)
    with store, pytest.raises(StoreUnavailableError, match="nope"):
        store.find_session(ADA, "s")


async def test_a_pool_run_dry_is_busy_and_works_again(server: PostgresServer, schema: str) -> None:
    async with open_async_store(server.url(), schema, most_connections=1, patience_s=0.2) as store:
        with open_store(server.url(), schema) as other:
            make_session(other)
        await store.find_session(ADA, "s")
        async with store._runner._pool.connection():
            with pytest.raises(StoreBusyError) as caught:
                await store.append(ADA, "s", [say("m1")])
            assert caught.value.retryable
        assert (await store.append(ADA, "s", [say("m1")])).written == 1


def test_a_user_who_may_only_read_is_told_so(server: PostgresServer, schema: str) -> None:
    import psycopg

    with open_store(server.url(), schema) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
    with psycopg.connect(server.url(), autocommit=True) as raw:
        raw.execute(f"CREATE ROLE reader_{schema} LOGIN".encode())
        raw.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader_{schema}".encode())
        raw.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader_{schema}".encode())
    with open_store(server.url(user=f"reader_{schema}"), schema) as store:
        assert ids_in(store) == ["m1"]
        assert not store.admin.health().writable
        with pytest.raises(ReadOnlyError):
            store.append(ADA, "s", [say("m2")])


def test_a_server_set_to_another_isolation_is_refused(server: PostgresServer, schema: str) -> None:
    options = "?options=-c%20default_transaction_isolation%3Dserializable"
    store = open_store(server.url() + options, schema)
    with store, pytest.raises(StoreError, match="read committed"):
        store.find_session(ADA, "s")
