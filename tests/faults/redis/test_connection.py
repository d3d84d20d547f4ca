"""Connections that are cut, answers that are lost, servers that hang, users that are refused."""

from __future__ import annotations

import time

import pytest
from redis import Redis
from servers.proxy import Proxy
from servers.redis import FAST, RedisServer

from sapwood.errors import (
    MessageTooLargeError,
    NotFoundError,
    ReadOnlyError,
    StoreError,
    StoreUnavailableError,
)
from sapwood.model import Read, SessionPatch, SessionQuery
from sapwood.stores.redis import RedisStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import cover, ids_told

from ..tried import tried
from .support import ADA, ids_in, make_session, open_store, say


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
            tried("Redis", "connection cut", 3)


def test_rule_02_an_append_whose_answer_was_lost_is_written_once(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        for id in ("m1", None):
            proxy.swallow_next_answer()
            done = store.append(ADA, "s", [say(id), say(None)])
            assert len(done.messages) == 2
        assert proxy.swallowed == 2
        assert len(ids_in(store)) == 5
        tried("Redis", "duplicate delivery after a lost answer", proxy.swallowed)


def test_a_unit_of_work_whose_answer_was_lost_is_done_once(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        client = store._runner.here()._client
        run_script = client.run_script
        lost: list[str] = []

        def lose(name, keys, *args):  # type: ignore[no-untyped-def]
            if name == "apply":
                lost.append(name)
                proxy.swallow_next_answer()
            return run_script(name, keys, *args)

        client.run_script = lose  # type: ignore[method-assign]
        document = store.put_document(ADA, "k", b"v", session="s", expected_version=0)
        patch = SessionPatch(title="t")
        record = store.update_session(ADA, "s", patch, expected_version=1).record
        own = store.put_document(ADA, "k", b"v", expected_version=0)
        client.run_script = run_script  # type: ignore[method-assign]
        assert len(lost) == proxy.swallowed == 3
        assert store.find_document(ADA, "k", session="s") == document
        assert (record.title, record.version) == ("t", 2)
        assert store.find_session(ADA, "s") == record
        assert store.find_document(ADA, "k") == own
        tried("Redis", "duplicate delivery after a lost answer", proxy.swallowed)


def test_a_claim_whose_answer_was_lost_holds_nobody_up_for_long(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store, "before")
        client = store._runner.here()._client
        run_script = client.run_script
        claims: list[str] = []

        def lose(name, keys, *args):  # type: ignore[no-untyped-def]
            if name == "claim_name":
                claims.append(name)
                if len(claims) == 1:
                    proxy.swallow_next_answer()
            return run_script(name, keys, *args)

        client.run_script = lose  # type: ignore[method-assign]
        make_session(store)
        assert proxy.swallowed == len(claims) == 1
        assert store.append(ADA, "s", [say("m1")]).written == 1
        listed = store.list_sessions(ADA, SessionQuery()).sessions
        assert {it.id for it in listed} == {"s", "before"}


def test_a_server_that_does_not_answer_in_time_is_told(server: RedisServer, prefix: str) -> None:
    url = server.url(parameters="?socket_timeout=0.3")
    with open_store(url, prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        server.pause()
        try:
            with pytest.raises(StoreUnavailableError) as caught:
                store.append(ADA, "s", [say("m2")])
            assert caught.value.retryable
            tried("Redis", "time-out")
        finally:
            server.go_on()
        # It may have been written before the time was over: by its id, it is there once.
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


def test_wrong_credentials_do_not_show_the_password(prefix: str, server: RedisServer) -> None:
    guarded = RedisServer(*FAST, "--requirepass", "right")
    try:
        for user in (":s3cret", "ada:s3cret", ""):
            with (
                open_store(guarded.url(user=user), prefix) as store,
                pytest.raises(StoreError, match="password") as caught,
            ):
                store.find_session(ADA, "s")
            assert not caught.value.retryable
            told = "".join(map(str, (caught.value, caught.value.__cause__, repr(caught.value))))
            assert "s3cret" not in told
            tried("Redis", "wrong credentials")
        with open_store(guarded.url(user=":right"), prefix) as store:
            assert store.find_session(ADA, "s") is None
    finally:
        guarded.remove()


def test_a_user_who_may_only_read_is_told_so(server: RedisServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
    with Redis(port=server.port) as raw:
        raw.execute_command(
            *("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read", "+evalsha", "+eval"),
            *("+info", "+hello", "+client", "+time", "+ping"),
        )
    with open_store(server.url(user="reader:pw"), prefix) as store:
        assert ids_in(store) == ["m1"]
        with pytest.raises(ReadOnlyError) as caught:
            store.append(ADA, "s", [say("m2")])
        assert not caught.value.retryable
        assert ids_in(store) == ["m1"]


def test_a_replica_can_be_read_and_says_that_it_takes_no_writes(
    server: RedisServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        assert store.admin.health().writable
        make_session(store, "covered")
        store.append(ADA, "covered", [say("m1"), say("m2")])
        store.add_overlay(ADA, "covered", cover("m1", "m1"))
    with open_store(server.url(), prefix, session_ttl_s=0.001) as store:
        make_session(store, "expired")
    replica = RedisServer(*FAST, "--replicaof", "127.0.0.1", str(server.port))
    try:
        with Redis(port=server.port) as raw:
            while not raw.wait(1, 1_000):
                continue
        with open_store(replica.url(), prefix) as store:
            assert ids_in(store) == ["m1"]
            assert not store.admin.health().writable
            record = store.find_session(ADA, "covered")
            assert record is not None
            assert record.messages == 2
            assert store.find_session(ADA, "expired") is None
            with pytest.raises(ReadOnlyError):
                store.append(ADA, "s", [say("m2")])
    finally:
        replica.remove()


def test_a_payload_over_the_limit_is_refused_before_anything_is_sent(
    server: RedisServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        with pytest.raises(MessageTooLargeError):
            store.append(ADA, "s", [say("m1", "x" * (9 * 1024 * 1024))])
        assert store.append(ADA, "s", [say("m1", "x" * (7 * 1024 * 1024))]).written == 1
        assert len(store.read(ADA, "s", Read()).messages_only[0].text) == 7 * 1024 * 1024
    tried("Redis", "payload over the limit")


def test_a_server_that_takes_less_than_a_message_may_have_is_refused(prefix: str) -> None:
    small = RedisServer(*FAST, "--proto-max-bulk-len", "1mb")
    try:
        with (
            open_store(small.url(), prefix) as store,
            pytest.raises(StoreError, match="proto-max-bulk-len"),
        ):
            make_session(store)
        with open_store(small.url(), prefix, max_message_bytes=500_000) as store:
            make_session(store)
            with pytest.raises(MessageTooLargeError):
                store.append(ADA, "s", [say("m1", "x" * 600_000)])
        tried("Redis", "payload over the limit", 2)
    finally:
        small.remove()


def append_once_there_is_room(store: RedisStore, session: str) -> int:
    """Append; for a while the server also counts what it was sent and refused."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return store.append(ADA, session, [say("last")]).written
        except StoreUnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def test_a_server_without_memory_loses_nothing_and_deleting_makes_room(prefix: str) -> None:
    full = RedisServer(*FAST, "--maxmemory", "12mb")
    try:
        with open_store(full.url(), prefix) as store:
            make_session(store)
            make_session(store, "other")
            told: list[str] = []
            with pytest.raises(StoreUnavailableError) as caught:  # noqa: PT012
                while True:
                    store.append(ADA, "s", [say(f"m{len(told)}", "x" * 100_000)])
                    told.append(f"m{len(told)}")
            assert caught.value.retryable
            assert len(told) > 20
            assert ids_in(store) == told
            with pytest.raises(StoreUnavailableError):
                store.put_document(ADA, "k", b"v" * 5_000_000, session="s")
            assert store.admin.check() == []
            store.delete_messages(ADA, "s", told[:10])
            assert append_once_there_is_room(store, "s") == 1
            store.delete_session(ADA, "s")
            with pytest.raises(NotFoundError):
                ids_in(store)
            assert append_once_there_is_room(store, "other") == 1
    finally:
        full.remove()


def test_without_memory_a_process_that_comes_new_can_read_and_delete_all(prefix: str) -> None:
    full = RedisServer(*FAST)
    try:
        with open_store(full.url(), prefix) as store:
            for session in ("s", "other"):
                make_session(store, session)
                store.append(ADA, session, [say("m1"), say("m2")])
                store.add_overlay(ADA, session, cover("m1", "m1"))
        with Redis(port=full.port) as raw, open_store(full.url(), prefix) as store:
            raw.config_set("maxmemory", 1_000_000)
            record = store.find_session(ADA, "s")
            assert record is not None
            assert record.messages == 2
            assert len(store.list_sessions(ADA, SessionQuery()).sessions) == 2
            assert len(ids_told(store.changes(ADA))) == 4
            store.delete_messages(ADA, "s", ["m2"])
            assert store.clear_session(ADA, "s").messages == 0
            store.delete_session(ADA, "s")
            store.finish_deletions()
            store.erase_owner(ADA)
            # And how high the versions of what was deleted were, which is one number.
        assert set(raw.keys("*")) == {f"{prefix}:schema".encode(), f"{prefix}:{{floor}}:t".encode()}
    finally:
        full.remove()


def test_rule_05_a_clock_that_goes_backwards_changes_no_order(
    server: RedisServer, prefix: str
) -> None:
    clock = ManualClock()
    with open_store(server.url(), prefix, clock=clock) as store:
        make_session(store)
        for n in range(5):
            store.append(ADA, "s", [say(f"m{n}")])
            clock.advance(-3_600)
        assert ids_in(store) == [f"m{n}" for n in range(5)]
        lease = store.put_document(ADA, "k", b"", session="s", expires_in_s=10)
        clock.advance(-3_600)
        assert store.put_document(ADA, "k", b"", session="s").version > lease.version
        assert ids_told(store.changes(ADA)) == ids_in(store)
        assert store.admin.check() == []
    tried("Redis", "clock that goes backwards", 6)
