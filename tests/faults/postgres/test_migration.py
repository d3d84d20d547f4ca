"""The schema: made once whoever comes first, and left alone when it is a newer version's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from servers.postgres import PostgresServer

from sapwood.errors import MigrationNeededError, SchemaError, SchemaTooNewError, UsageError
from sapwood.model import NewSession, SessionPatch
from sapwood.testing import COUNTS

from ..tried import tried
from .support import ADA, ids_in, make_session, open_store, say

WRITER = Path(__file__).with_name("writer.py")
PROCESSES = 4
MESSAGES = 50


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
        assert raw.execute(sql.encode()).fetchall() == [(2,)]
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


def test_the_first_schemas_records_are_there(server: PostgresServer, schema: str) -> None:
    with open_store(server.url(), schema) as store:
        new = NewSession(id="s", title="t", attributes={"k": 1}, model="large")
        store.create_session(ADA, new)
    with psycopg.connect(server.url()) as raw:
        for sql in (
            "ALTER TABLE {s}.profile RENAME COLUMN attributes TO data",
            "ALTER TABLE {s}.profile DROP COLUMN model, DROP COLUMN source, DROP COLUMN end_reason",
            "DELETE FROM {s}.migration WHERE version = 2",
        ):
            raw.execute(sql.format(s=schema).encode())
    with open_store(server.url(), schema) as store:
        record = store.find_session(ADA, "s")
        assert record is not None
        assert (record.title, record.attributes, record.model) == ("t", {"k": 1}, None)
        patch = SessionPatch(model="small", source="cli", end_reason="timeout")
        record = store.update_session(ADA, "s", patch)
        assert (record.model, record.source, record.end_reason) == ("small", "cli", "timeout")
        assert store.admin.schema_version() == 2


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
        assert store.admin.migrate() == 2
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
