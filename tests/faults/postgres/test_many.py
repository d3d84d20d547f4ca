"""Calls over more sessions than one transaction can lock, and beside those who change them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from servers.postgres import PostgresServer

from sapwood.testing import COUNTS

from .support import ADA, ids_in, make_session, open_store, say

MANY = 3_000
_MAKE = """
INSERT INTO {s}.directory SELECT o.number, 'n' || n, 10000 + n, 10000 + n
    FROM {s}.owner o, generate_series(1, %(many)s) n;
INSERT INTO {s}.session (tree, number, owner, id, home, created_at, active_at, active_s)
    SELECT d.tree, d.number, d.owner, d.id, d.tree, 1, 1, 0 FROM {s}.directory d
    WHERE d.number > 10000;
INSERT INTO {s}.profile (tree, session, state, tags, attributes)
    SELECT d.tree, d.number, 'active', '{}', '{}' FROM {s}.directory d WHERE d.number > 10000;
SELECT setval('{s}.home_number', 50000), setval('{s}.session_number', 50000);
"""
_WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
def small(server: PostgresServer) -> Iterator[PostgresServer]:
    """Start a server that has room for a few hundred locks; users' have it for some thousands."""
    small = PostgresServer("max_connections=10", "max_locks_per_transaction=10", "fsync=off")
    yield small
    small.remove()


def test_an_owner_of_more_sessions_than_can_be_locked_is_checked_repaired_and_erased(
    small: PostgresServer, schema: str
) -> None:
    with open_store(small.url(), schema) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        with psycopg.connect(small.url(), autocommit=True) as raw:
            text = _MAKE.replace("{s}", schema).replace("%(many)s", str(MANY))
            raw.execute(text.encode())
            raw.execute(f"UPDATE {schema}.session SET messages = 7".encode())
        # Those that were made by hand are in no listing, either, which is told beside it.
        told = [it for it in store.admin.check() if "it counts 7 messages" in it.what]
        assert len(told) == MANY + 1
        assert store.admin.repair() == []
        assert ids_in(store) == ["m1"]
        store.erase_owner(ADA)
        assert store.admin.list_owners() == []
        assert store.statistics(ADA).sessions == 0
        COUNTS["PostgreSQL: more sessions than can be locked"] += 1


def test_an_owner_is_erased_beside_one_who_deletes_a_session(
    server: PostgresServer, schema: str
) -> None:
    with (
        open_store(server.url(), schema) as store,
        psycopg.connect(server.url()) as raw,
        psycopg.connect(server.url(), autocommit=True) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        make_session(store)
        make_session(store, "t")
        raw.execute(f"SELECT 1 FROM {schema}.locked_session('{ADA}', 's')".encode())
        erased = pool.submit(store.erase_owner, ADA)
        while other.execute(_WAITING).fetchone() == (0,):
            time.sleep(0.01)
        for table in ("session", "directory"):
            raw.execute(f"DELETE FROM {schema}.{table} WHERE id = 's'".encode())
        raw.commit()
        erased.result(20)
        assert store.admin.list_owners() == []


def test_a_repair_keeps_what_is_appended_to_sessions_that_began_meanwhile(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store:
        for n in range(200):
            make_session(store, f"s{n}")
            store.append(ADA, f"s{n}", [say("m1")])

        done = threading.Event()

        def write() -> None:
            n = 0
            while not done.is_set():
                make_session(store, f"new{n}")
                for k in range(20):
                    store.append(ADA, f"new{n}", [say(f"m{k}")])
                n += 1

        with ThreadPoolExecutor(1) as pool:
            writer = pool.submit(write)
            for _ in range(3):
                store.admin.repair()
            done.set()
            writer.result()
        assert store.admin.check() == []
