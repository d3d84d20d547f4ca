"""Several processes and clients at once: one set-up, one order, and a feed that misses nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from servers.mariadb import MariaDbServer
from sqlalchemy import create_engine

from sapwood.errors import SchemaError, SchemaTooNewError
from sapwood.model import NewSession, SessionPatch
from sapwood.stores.sqlalchemy.locks import now_us
from sapwood.testing import COUNTS, ManualClock
from sapwood.testing.makers import ids_told

from ..sharing import write_together
from ..tried import tried
from .support import ADA, Place, ids_in, make_session, open_store, say

WRITER = Path(__file__).with_name("writer.py")
PROCESSES = 4
MESSAGES = 25


@pytest.mark.fault
def test_rule_06_processes_that_start_at_once_migrate_once_and_all_land(
    server: MariaDbServer, prefix: str
) -> None:
    command = [sys.executable, str(WRITER), f"{server.url()}?prefix={prefix}", str(MESSAGES)]
    processes = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(PROCESSES)
    ]
    said = [process.communicate(timeout=180)[0].splitlines()[-1:] for process in processes]
    assert said == [["done"]] * PROCESSES
    with open_store(server.url(), prefix) as store:
        found = ids_in(store)
        assert len(found) == PROCESSES * MESSAGES
        for n in range(PROCESSES):
            mine = [id for id in found if id.startswith(f"p{n}-")]
            assert mine == [f"p{n}-{k}" for k in range(MESSAGES)]
        assert store.admin.check() == []
    with server.connect() as raw, raw.cursor() as cursor:
        cursor.execute(f"SELECT version FROM {prefix}migration")
        assert cursor.fetchall() == ((1,), (2,), (3,), (4,))
    COUNTS["processes that started at once on MariaDB"] += PROCESSES


def test_a_newer_schema_is_refused_and_not_touched(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
    with server.connect() as raw, raw.cursor() as cursor:
        cursor.execute(f"INSERT INTO {prefix}migration VALUES (99, 'later', 'x', 0)")
        cursor.execute(f"DROP TABLE {prefix}usage")
    with open_store(server.url(), prefix) as store:
        with pytest.raises(SchemaTooNewError, match="99"):
            store.find_session(ADA, "s")
        with pytest.raises(SchemaTooNewError):
            store.admin.migrate()
    with server.connect() as raw, raw.cursor() as cursor:
        assert not cursor.execute(f"SHOW TABLES LIKE '{prefix}usage'")
    tried("MariaDB", "schema from a newer version", 2)


def test_a_schema_of_another_text_is_refused(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
    with server.connect() as raw, raw.cursor() as cursor:
        cursor.execute(f"UPDATE {prefix}migration SET checksum = 'x'")
    with open_store(server.url(), prefix) as store, pytest.raises(SchemaError):
        store.find_session(ADA, "s")


def test_rule_06_two_clients_with_one_session(place: Place, prefix: str) -> None:
    with open_store(place.url, prefix) as one, open_store(place.url, prefix) as two:
        write_together(one, two)
    tried(place.name, "two clients with one session")


def test_rule_05_a_clock_that_goes_backwards_changes_no_order(
    server: MariaDbServer, prefix: str
) -> None:
    clock = ManualClock()
    with open_store(server.url(), prefix, clock=clock) as store:
        make_session(store)
        for n in range(5):
            store.append(ADA, "s", [say(f"m{n}")])
            clock.advance(-1)
        assert ids_in(store) == [f"m{n}" for n in range(5)]
        assert ids_told(store.changes(ADA)) == [f"m{n}" for n in range(5)]
    tried("MariaDB", "clock that goes backwards", 5)


def test_the_servers_time_goes_on_evenly_when_summer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    try:
        server = MariaDbServer("--sysdate-is-now")
    except FileNotFoundError:
        pytest.skip("this needs a MariaDB of its own: run `make servers`")
    summer_ends = 1_792_890_000
    engine = create_engine(server.url().replace("mariadb:", "mariadb+pymysql:"))
    try:
        with engine.connect() as conn:
            for moment in range(summer_ends - 5400, summer_ends + 5400, 1800):
                conn.exec_driver_sql(f"SET timestamp = {moment}")
                told = conn.execute(now_us("mysql")).scalar()
                assert told == moment * 1_000_000
    finally:
        engine.dispose()
        server.remove()


@pytest.mark.fault
def test_a_feeds_cursor_never_passes_a_change_that_is_not_committed(
    server: MariaDbServer, prefix: str
) -> None:
    writers, each = 6, 15
    seen: list[str] = []
    done = threading.Event()
    with open_store(server.url(), prefix) as store:
        for writer in range(writers):
            store.create_session(ADA, NewSession(id=f"s{writer}"))

        def write(writer: int) -> None:
            for n in range(each):
                store.append(ADA, f"s{writer}", [say(f"{writer}-{n}")])
                store.append(ADA, f"s{writer}", [say(f"{writer}-{n}a"), say(f"{writer}-{n}b")])
                store.update_session(ADA, f"s{writer}", SessionPatch(title=str(n)))
                if n % 5 == 4:
                    store.delete_messages(ADA, f"s{writer}", [f"{writer}-{n}b"])

        def follow() -> None:
            cursor, is_last = "", False
            while not is_last:
                is_last = done.is_set()
                page = store.changes(ADA, after=cursor)
                seen.extend(f"{it.kind.value} {it.message or it.session}" for it in page.changes)
                cursor = page.cursor
                COUNTS["looks at a feed of MariaDB while others write"] += 1

        reader = threading.Thread(target=follow)
        reader.start()
        with ThreadPoolExecutor(writers) as threads:
            list(threads.map(write, range(writers)))
        done.set()
        reader.join()
    for writer in range(writers):
        mine = [it for it in seen if it.split(" ")[1].startswith(f"{writer}-")]
        wanted = []
        for n in range(each):
            wanted += [f"append {writer}-{n}{letter}" for letter in ("", "a", "b")]
            if n % 5 == 4:
                wanted.append(f"delete {writer}-{n}b")
        assert mine == wanted
        # Records are changed by several at once, unlike messages that are edited.
        assert seen.count(f"record s{writer}") == 1 + each
