"""Connections that are cut, answers that are lost or late, and users that are refused."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from servers.postgres import PostgresServer
from servers.proxy import Proxy

from sapwood.errors import (
    MessageConflictError,
    ReadOnlyError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    UsageError,
)
from sapwood.model import (
    ROOT,
    DocumentDelete,
    DocumentPut,
    Fence,
    NewSession,
    Read,
    SessionPatch,
)
from sapwood.testing import COUNTS

from ..late import (
    give_up_an_answer_that_is_too_late,
    wait_for_late_answers,
    wait_for_late_answers_on_a_loop,
)
from ..tried import tried
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
            tried("PostgreSQL", "connection cut", 3)


def test_a_connection_that_the_server_ended_as_idle_is_replaced_within_the_call(
    server: PostgresServer, schema: str
) -> None:
    ended = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = %s"
    options = f"-c idle_session_timeout=200 -c application_name={schema}"
    url = psycopg.conninfo.make_conninfo(server.url(), options=options)
    with open_store(url, schema) as store, psycopg.connect(server.url(), autocommit=True) as raw:

        def wait() -> None:
            while not (raw.execute(ended, (schema,)).fetchone() or (False,))[0]:
                time.sleep(0.05)

        make_session(store)
        wait()
        store.append(ADA, "s", [say("m1")])
        wait()
        assert ids_in(store) == ["m1"]
        wait()
        store.put_document(ADA, "k", b"", session="s")
        COUNTS["PostgreSQL: connections ended as idle"] += 3


# With one connection, the next answer is that to the append, and not to another one that is made.
def test_rule_02_an_append_whose_answer_was_lost_is_written_once(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema, most_connections=1) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        for id, lose in (
            ("m1", proxy.swallow_next_answer),
            ("m2", proxy.truncate_next_answer),
            ("m3", proxy.lose_next_request),
            (None, proxy.swallow_next_answer),
            (None, proxy.truncate_next_answer),
            (None, proxy.lose_next_request),
        ):
            before = ids_in(store)
            lose()
            done = store.append(ADA, "s", [say(id), say(None)])
            assert ids_in(store) == [*before, *(it.id for it in done.messages)]
        assert (proxy.swallowed, proxy.truncated, proxy.lost) == (2, 2, 2)
        assert store.admin.check() == []
        tried("PostgreSQL", "duplicate delivery after a lost answer", 2)
        tried("PostgreSQL", "answer truncated", 2)
        COUNTS["PostgreSQL: requests lost"] += 2


@pytest.mark.parametrize("lose", ["swallow_next_answer", "truncate_next_answer"])
def test_rule_02_an_append_that_landed_is_told_as_written_where_that_is_certain(
    proxy: Proxy, proxied: str, schema: str, lose: str
) -> None:
    with open_store(proxied, schema, most_connections=1) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        getattr(proxy, lose)()
        ours = store.append(ADA, "s", [say(None, "an id of our own")])
        # Nobody else can have stored it, so that this call did.
        assert (ours.written, ours.tip) == (1, ours.messages[0].id)
        getattr(proxy, lose)()
        theirs = store.append(ADA, "s", [say("m1")])
        # It may have been there before this call, as after any other repetition.
        assert (theirs.written, theirs.tip) == (0, "m1")
        assert theirs.messages == store.find_messages(ADA, "s", ["m1"])
        getattr(proxy, lose)()
        with pytest.raises(MessageConflictError):
            store.append(ADA, "s", [say("m1", "another text")])
        tried("PostgreSQL", "duplicate delivery after a lost answer", 3)


@pytest.mark.parametrize(
    "lose", ["swallow_next_answer", "truncate_next_answer", "lose_next_request"]
)
def test_rule_02_what_comes_along_with_an_append_whose_answer_was_lost_is_written_once(
    proxy: Proxy, proxied: str, schema: str, lose: str
) -> None:
    with open_store(proxied, schema, most_connections=1) as store:
        make_session(store)
        lease = store.put_document(ADA, "lease", b"", session="s", expires_in_s=600)
        getattr(proxy, lose)()
        done = store.append(
            ADA,
            "s",
            [say(None, "ours")],
            fence=Fence(key="lease", version=lease.version),
            expected_version=1,
            expected_tip=ROOT,
            documents=[
                DocumentPut(key="k", value=b"1", expected_version=0),
                DocumentDelete(key="lease", expected_version=lease.version),
            ],
            patch=SessionPatch(title="t"),
        )
        assert (done.written, ids_in(store)) == (1, [done.tip])
        [found] = store.list_documents(ADA, session="s")
        assert done.documents == {"k": found.version, "lease": 0}
        record = store.find_session(ADA, "s")
        assert record is not None
        assert (record.title, record.version) == ("t", 2)
        tried("PostgreSQL", "duplicate delivery after a lost answer")


async def test_rule_02_answers_lost_by_a_group_are_written_once(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    async with open_async_store(proxied, schema, most_connections=1) as store:
        for n in range(8):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say("m0")])
        for round, lose in enumerate((proxy.swallow_next_answer, proxy.truncate_next_answer)):
            lose()
            new = [say(f"r{round}") for _ in range(8)]
            calls = [store.append(ADA, f"s{n}", [new[n]]) for n in range(8)]
            calls += [store.append(ADA, f"s{n}", [say(None, "ours")]) for n in range(8)]
            done = await asyncio.gather(*calls)
            assert [it.written for it in done[8:]] == [1] * 8
        assert (proxy.swallowed, proxy.truncated) == (1, 1)
        for n in range(8):
            found = (await store.read(ADA, f"s{n}", Read())).messages_only
            assert sorted(it.id for it in found if len(it.id) == 2) == ["m0", "r0", "r1"]
            assert len(found) == 5
        tried("PostgreSQL", "duplicate delivery after a lost answer", 2)


async def test_answers_that_are_late_are_waited_for(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema) as store:
        wait_for_late_answers(store, proxy)
    async with open_async_store(proxied, f"{schema}_a") as twin:
        tried("PostgreSQL", "answer delayed", await wait_for_late_answers_on_a_loop(twin, proxy))


def test_rule_02_an_answer_that_is_too_late_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema, answer_within_s=0.5) as store:
        tried("PostgreSQL", "answer delayed", give_up_an_answer_that_is_too_late(store, proxy, 1))


def test_a_server_that_keeps_silent_is_given_up_and_used_again(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema, answer_within_s=0.3) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        for call in (lambda: store.append(ADA, "s", [say("m2")]), lambda: ids_in(store)):
            proxy.hold()
            with pytest.raises(StoreUnavailableError, match=r"within 0\.3 seconds") as caught:
                call()
            assert caught.value.retryable
            proxy.release()
            store.append(ADA, "s", [say("m2")])
            tried("PostgreSQL", "time-out")
        assert ids_in(store) == ["m1", "m2"]


async def test_the_async_twin_gives_up_a_silent_server(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    async with open_async_store(proxied, schema, answer_within_s=0.3) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")])
        proxy.hold()
        calls = [store.append(ADA, "s", [say(f"n{n}")]) for n in range(4)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        proxy.release()
        assert [type(it) for it in done] == [StoreUnavailableError] * 4
        for n in range(4):
            await store.append(ADA, "s", [say(f"n{n}")])
        found = [it.id for it in (await store.read(ADA, "s", Read())).messages_only]
        assert sorted(found) == ["m1", "n0", "n1", "n2", "n3"]
        tried("PostgreSQL", "time-out")


@pytest.mark.parametrize("setting", ["statement_timeout", "lock_timeout"])
def test_a_limit_of_the_servers_is_busy_and_works_again(
    server: PostgresServer, schema: str, setting: str
) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
    url = f"{server.url()}?options=-c%20{setting}%3D100"
    with open_store(url, schema) as store, psycopg.connect(server.url()) as other:
        other.execute(f"SELECT {schema}.lock_tree(tree) FROM {schema}.directory".encode())
        for call in (
            lambda: store.append(ADA, "s", [say("m2")]),
            lambda: store.put_document(ADA, "k", b"", session="s"),
        ):
            with pytest.raises(StoreBusyError) as caught:
                call()
            assert caught.value.retryable
            tried("PostgreSQL", "time-out")
        other.rollback()
        assert store.append(ADA, "s", [say("m2")]).written == 1
        assert ids_in(store) == ["m1", "m2"]


def test_a_commit_whose_answer_was_lost_is_told_and_not_repeated(
    proxy: Proxy, proxied: str, schema: str
) -> None:
    with open_store(proxied, schema) as store:
        make_session(store)
        tx_commits = []
        original = store._runner.here()._attempt

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

        store._runner.here()._attempt = attempt  # type: ignore[method-assign]
        with pytest.raises(StoreUnavailableError) as caught:
            store.put_document(ADA, "k", b"v", session="s")
        store._runner.here()._attempt = original  # type: ignore[method-assign]
        assert caught.value.retryable
        assert tx_commits == ["COMMIT"]
        found = store.find_document(ADA, "k", session="s")
        assert found is not None
        assert found.value == b"v"
        COUNTS["PostgreSQL: answers to a commit lost"] += 1


def test_wrong_credentials_do_not_show_the_password(server: PostgresServer, schema: str) -> None:
    url = server.url(user="needs_password:s3cret")
    with open_store(url, schema) as store, pytest.raises(StoreError, match="password") as caught:
        store.find_session(ADA, "s")
    assert not caught.value.retryable
    shown = "".join(map(str, (caught.value, caught.value.__cause__, repr(caught.value))))
    assert "s3cret" not in shown
    with pytest.raises(UsageError) as wrong:
        open_store("postgresql://ada:s3cret@host/x?s3cret=1", schema)
    assert "s3cret" not in str(wrong.value)
    assert wrong.value.__suppress_context__
    tried("PostgreSQL", "wrong credentials")


def test_a_database_that_is_not_there_is_told(server: PostgresServer, schema: str) -> None:
    store = open_store(server.url(database="nope"), schema)
    with store, pytest.raises(StoreError, match="nope") as caught:
        store.find_session(ADA, "s")
    assert not caught.value.retryable


async def test_a_pool_run_dry_is_busy_and_works_again(server: PostgresServer, schema: str) -> None:
    async with open_async_store(server.url(), schema, most_connections=1, patience_s=0.2) as store:
        with open_store(server.url(), schema) as other:
            make_session(other)
        await store.find_session(ADA, "s")
        async with store._runner.here()._pool.connection():
            with pytest.raises(StoreBusyError) as caught:
                await store.append(ADA, "s", [say("m1")])
            assert caught.value.retryable
        assert (await store.append(ADA, "s", [say("m1")])).written == 1
        tried("PostgreSQL", "pool run dry")


def test_a_pool_run_dry_is_busy_for_threads_that_wait_together(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema, most_connections=1, patience_s=0.2) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])

        def write(n: int) -> object:
            try:
                return store.append(ADA, "s", [say(f"m{n}")]).written
            except StoreError as error:
                return type(error)

        with ThreadPoolExecutor(8) as threads:
            with store._runner.here()._pool.connection():
                assert set(threads.map(write, range(1, 9))) == {StoreBusyError}
            assert list(threads.map(write, range(1, 9))) == [1] * 8
        assert sorted(ids_in(store)) == [f"m{n}" for n in range(9)]
        tried("PostgreSQL", "pool run dry")


def test_a_user_who_may_only_read_is_told_so(server: PostgresServer, schema: str) -> None:
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
