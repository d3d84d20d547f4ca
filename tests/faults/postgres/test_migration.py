"""The schema: made once whoever comes first, and left alone when it is a newer version's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from servers.postgres import PostgresServer

from sapwood.errors import (
    MigrationNeededError,
    SchemaError,
    SchemaTooNewError,
    SessionClosedError,
    UsageError,
)
from sapwood.model import DocumentPut, ForkPoint, NewSession, SessionPatch
from sapwood.stores.postgres import migration
from sapwood.stores.postgres._sync import migrator
from sapwood.stores.postgres.migration import packaged_steps
from sapwood.testing import COUNTS

from ..tried import tried
from .support import ADA, ids_in, make_session, open_store, say

WRITER = Path(__file__).with_name("writer.py")
PROCESSES = 4
MESSAGES = 50
NEWEST = len(packaged_steps())


def tables(server: PostgresServer, schema: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.url()) as raw:
        return raw.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", (schema,)
        ).fetchall()


@pytest.mark.fault
def test_rule_06_processes_that_start_at_once_migrate_once_and_all_land(
    server: PostgresServer, schema: str
) -> None:
    command = [sys.executable, str(WRITER), server.url(), schema, str(MESSAGES)]
    processes = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(PROCESSES)
    ]
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert said == ["done\n"] * PROCESSES
    with open_store(server.url(), schema) as store:
        found = ids_in(store)
        assert len(found) == PROCESSES * MESSAGES
        for n in range(PROCESSES):
            mine = [id for id in found if id.startswith(f"p{n}-")]
            assert mine == [f"p{n}-{k}" for k in range(MESSAGES)]
        assert store.admin.check() == []
    with psycopg.connect(server.url()) as raw:
        sql = f"SELECT count(*) FROM {schema}.migration"
        assert raw.execute(sql.encode()).fetchall() == [(NEWEST,)]
    COUNTS["PostgreSQL: processes with one session"] += PROCESSES


def test_a_newer_schema_is_refused_and_not_touched(server: PostgresServer, schema: str) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store)
    with psycopg.connect(server.url()) as raw:
        raw.execute(
            f"INSERT INTO {schema}.migration (version, name, checksum)"
            " VALUES (99, '0099_later.sql', 'x')".encode()
        )
        raw.execute(f"DROP TABLE {schema}.usage".encode())
    before = tables(server, schema)
    with open_store(server.url(), schema) as store:
        with pytest.raises(SchemaTooNewError, match="99"):
            store.find_session(ADA, "s")
        with pytest.raises(SchemaTooNewError):
            store.admin.migrate()
    assert tables(server, schema) == before
    tried("PostgreSQL", "schema from a newer version")


_OLD_SESSION = """
INSERT INTO {s}.owner (name) VALUES ('ada');
INSERT INTO {s}.directory (owner, id, number, tree)
SELECT number, 's', nextval('{s}.session_number'), nextval('{s}.home_number') FROM {s}.owner;
INSERT INTO {s}.session (tree, number, owner, id, home, created_at, active_at, active_s)
SELECT tree, number, owner, id, tree, 1, 1, 0 FROM {s}.directory;
INSERT INTO {s}.profile (tree, session, title, state, tags, attributes)
SELECT tree, number, 't', 'active', '{}', '{"k":1}' FROM {s}.directory;
INSERT INTO {s}.document (tree, session, key, version, updated_at, value)
SELECT tree, number, 'k', nextval('{s}.document_version'), 1, 'v' FROM {s}.directory
"""
_OLD_APPEND = """
SELECT start FROM {s}.append_one('ada', 's', NULL, true, %s, 'user', 1, NULL,
    '{"parts":[{"type":"text","text":"said"}]}', 'said')
"""


def make_old(raw: psycopg.Connection[Any], schema: str, version: int, partitions: int) -> None:
    """Make a schema and a session in it, as an older version of sapwood did."""
    steps = packaged_steps()[:version]
    with pytest.MonkeyPatch.context() as patch:
        for module in (migration, migrator):
            patch.setattr(module, "packaged_steps", lambda: steps)
        assert migrator.Migrator(raw, schema, partitions).migrate() == version
    text = _OLD_SESSION if version > 1 else _OLD_SESSION.replace("attributes", "data")
    raw.execute(text.replace("{s}", schema).encode())


@pytest.mark.parametrize("partitions", [0, 3])
@pytest.mark.parametrize("version", range(1, NEWEST))
def test_an_older_schema_is_brought_up_to_date_with_what_is_there(
    server: PostgresServer, schema: str, version: int, partitions: int
) -> None:
    append = _OLD_APPEND.replace("{s}", schema).encode()
    with psycopg.connect(server.url(), autocommit=True) as old:
        make_old(old, schema, version, partitions)
        # This connection stays, as those of processes do that were started before.
        assert old.execute(append, ("m1",)).fetchone() != (None,)
        with open_store(server.url(), schema) as store:
            record = store.find_session(ADA, "s")
            assert record is not None
            assert (record.title, record.attributes, record.model) == ("t", {"k": 1}, None)
            assert not record.closed
            assert store.admin.schema_version() == NEWEST
            put = DocumentPut(key="own", value=b"", inherit=False)
            store.append(ADA, "s", [say("m2")], documents=[put], patch=SessionPatch(model="small"))
            assert old.execute(append, ("m3",)).fetchone() != (None,)
            assert ids_in(store) == ["m1", "m2", "m3"]
            assert [it.text for it in store.find_messages(ADA, "s", ["m1"]) if it] == ["said"]
            store.create_session(ADA, NewSession(id="f", fork=ForkPoint(session="s")))
            assert [it.key for it in store.list_documents(ADA, session="f")] == ["k"]
            updated = store.update_session(ADA, "s", SessionPatch(closed=True)).record
            assert (updated.closed, updated.model) == (True, "small")
            assert old.execute(append, ("m4",)).fetchone() == (None,)
            with pytest.raises(SessionClosedError):
                store.append(ADA, "s", [say("m4")])
            assert store.admin.check() == []


def test_a_schema_of_another_text_is_refused(server: PostgresServer, schema: str) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store)
    with psycopg.connect(server.url()) as raw:
        raw.execute(f"UPDATE {schema}.migration SET checksum = 'x'".encode())
    with open_store(server.url(), schema) as store, pytest.raises(SchemaError):
        store.find_session(ADA, "s")


def test_without_auto_migrate_nothing_is_made_until_it_is_asked_for(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema, auto_migrate=False) as store:
        with pytest.raises(MigrationNeededError):
            store.find_session(ADA, "s")
        assert tables(server, schema) == []
        assert store.admin.migrate() == NEWEST
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        assert ids_in(store) == ["m1"]


def test_schemas_are_apart_and_their_names_are_names(server: PostgresServer, schema: str) -> None:
    with (
        open_store(server.url(), f"{schema}_Upper") as one,
        open_store(server.url(), schema) as two,
    ):
        make_session(one)
        assert two.find_session(ADA, "s") is None
    for name in ('x"; DROP TABLE y; --', "", "1x", "a.b", "x" * 64, "é"):
        with pytest.raises(UsageError):
            open_store(server.url(), name)
