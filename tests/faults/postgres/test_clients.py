"""Clients that are killed, clients with one session, clocks that go back, and loads too large."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from servers.postgres import PostgresServer
from tier import often

from sapwood.errors import (
    MessageTooLargeError,
    NotFoundError,
    StoreError,
    UsageError,
)
from sapwood.model import NewSession, SessionQuery
from sapwood.stores.postgres._sync import quick_append
from sapwood.testing.makers import fork_of, ids_told

from ..sharing import write_together
from ..tried import tried
from .support import ADA, ids_in, make_session, open_store, say

VICTIM = Path(__file__).with_name("victim.py")
KILLS = often(2, 6)


def start(server: PostgresServer, schema: str, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(VICTIM), server.url(), schema, *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.fault
def test_rule_01_what_a_killed_client_was_told_is_there_and_a_retry_gives_one(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store)
        for kill in range(KILLS):
            with start(server, schema, "append", f"k{kill}") as victim:
                assert victim.stdout is not None
                lines = [victim.stdout.readline() for _ in range(5 + 7 * kill)]
                victim.kill()
                lines += victim.stdout.read().splitlines()
            begun, told = ([it.split()[1] for it in lines if it.startswith(w)] for w in ("b", "d"))
            found = [id for id in ids_in(store) if id.startswith(f"k{kill}-")]
            assert found[: len(told)] == told
            assert found in (told, begun)
            for id in begun:
                text = id.partition("-")[2]
                store.append(ADA, "s", [say(id, text)])
            assert [id for id in ids_in(store) if id.startswith(f"k{kill}-")] == begun
        assert store.admin.check() == []
    tried("PostgreSQL", "client killed in the middle of writes", KILLS)


@pytest.mark.fault
def test_what_a_client_left_when_it_was_killed_after_a_commit_is_done_by_the_next(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store)
        store.append(ADA, "s", [say(f"m{n}") for n in range(20)])
        store.create_session(ADA, fork_of("s", "m4"))
        with start(server, schema, "delete") as victim:
            assert victim.wait() == -signal.SIGKILL
        with pytest.raises(NotFoundError):
            ids_in(store)
        assert len(rows(server, f"SELECT FROM {schema}.message")) == 20
        assert store.admin.check() == []
        store.finish_deletions()
        assert len(rows(server, f"SELECT FROM {schema}.message")) == 5
        assert ids_in(store, "fork") == [f"m{n}" for n in range(5)]
        assert store.admin.check() == []
    tried("PostgreSQL", "client killed between commit and apply")


def rows(server: PostgresServer, text: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.url()) as raw:
        return raw.execute(text.encode()).fetchall()


def test_rule_06_two_clients_with_one_session(server: PostgresServer, schema: str) -> None:
    with open_store(server.url(), schema) as one, open_store(server.url(), schema) as two:
        write_together(one, two)
    tried("PostgreSQL", "two clients with one session")


def test_rule_05_a_clock_that_goes_back_changes_no_order(
    server: PostgresServer, schema: str
) -> None:
    times = iter(range(10_000_000_000, 0, -1_000_000))
    with open_store(server.url(), schema, clock=lambda: next(times)) as store:
        for session in ("s", "t"):
            store.create_session(ADA, NewSession(id=session))
        lease = store.put_document(ADA, "lease", b"", session="s", expires_in_s=3600)
        for n in range(10):
            store.append(ADA, "s", [say(f"m{n}")])
            store.append(ADA, "s", [say(f"n{n}"), say(f"o{n}")])
        wanted = [f"{letter}{n}" for n in range(10) for letter in "mno"]
        assert ids_in(store) == wanted
        stamps = [it.created_us for it in store.find_messages(ADA, "s", wanted) if it is not None]
        assert stamps == sorted(stamps, reverse=True)
        assert ids_told(store.changes(ADA)) == wanted
        assert len(store.list_sessions(ADA, SessionQuery()).sessions) == 2
        # What was put later has the higher version, whatever the clock says.
        assert store.put_document(ADA, "lease", b"", session="s").version > lease.version
        assert store.admin.check() == []
    tried("PostgreSQL", "clock that goes backwards")


def test_a_load_over_the_servers_limit_is_refused_before_it_is_sent(
    server: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="max_message_bytes"):
        open_store(server.url(), schema, max_message_bytes=1 << 30)
    monkeypatch.setattr(quick_append, "MOST_BATCH_BYTES", 1_000_000)
    with open_store(server.url(), schema, max_message_bytes=600_000) as store:
        make_session(store)
        with pytest.raises(MessageTooLargeError, match="several calls"):
            store.append(ADA, "s", [say("m1", "x" * 550_000), say("m2", "x" * 550_000)])
        with pytest.raises(MessageTooLargeError):
            store.append(ADA, "s", [say("m1", "x" * 700_000)])
        assert ids_in(store) == []
        store.append(ADA, "s", [say("m1", "x" * 550_000)])
        assert ids_in(store) == ["m1"]
    tried("PostgreSQL", "payload over the limit", 3)


def test_what_is_over_a_limit_of_the_servers_own_is_told_and_not_retried(
    server: PostgresServer, schema: str
) -> None:
    """A server's limit is met for real: words that its index cannot hold."""
    with open_store(server.url(), schema) as store:
        make_session(store)
        with psycopg.connect(server.url(), autocommit=True) as raw:
            raw.execute(f"CREATE INDEX ON {schema}.message (body)".encode())
        # Not to be compressed, so that it does not fit into a page of that index.
        text = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(20_000))
        with pytest.raises(StoreError, match="limit of the server") as caught:
            store.append(ADA, "s", [say("m1", text)])
        assert not caught.value.retryable
        assert ids_in(store) == []
        store.append(ADA, "s", [say("m2", "short")])
        assert ids_in(store) == ["m2"]
    tried("PostgreSQL", "payload over the limit")
