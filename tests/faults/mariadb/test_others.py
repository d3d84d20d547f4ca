"""The same on PostgreSQL and SQLite through SQLAlchemy."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from servers.postgres import PostgresServer, program
from servers.proxy import Proxy

from sapwood.errors import StoreBusyError, StoreUnavailableError
from sapwood.testing import COUNTS

from .support import ADA, ids_in, make_session, open_async_store, open_store, say

WRITER = Path(__file__).with_name("writer.py")


@pytest.fixture(scope="module")
def postgres(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    if program("postgres") is None:
        required = request.config.getoption("--require-backends").split(",")
        say = "this needs a PostgreSQL that can be stopped: run `make servers`"
        (pytest.fail if "postgres" in required else pytest.skip)(say)
    server = PostgresServer()
    yield server
    server.remove()


def url_of(server: PostgresServer, port: int | None = None) -> str:
    return f"sqlalchemy+{server.url()}".replace(str(server.port), str(port or server.port))


async def test_both_twins_go_on_after_postgres_was_killed(
    postgres: PostgresServer, prefix: str
) -> None:
    url = url_of(postgres)
    with open_store(url, prefix) as one:
        make_session(one)
        async with open_async_store(url, prefix) as two:
            one.append(ADA, "s", [say("m1")])
            await two.append(ADA, "s", [say("m2")])
            postgres.kill()
            with pytest.raises(StoreUnavailableError) as caught:
                one.append(ADA, "s", [say("lost")])
            assert caught.value.retryable
            postgres.start()
            one.append(ADA, "s", [say("m3")])
            await two.append(ADA, "s", [say("m4")])
            assert ids_in(one) == ["m1", "m2", "m3", "m4"]
            COUNTS["PostgreSQL under SQLAlchemy killed"] += 1


async def test_both_twins_replace_a_cut_connection_to_postgres(
    postgres: PostgresServer, prefix: str
) -> None:
    proxy = Proxy(postgres.port)
    url = url_of(postgres, proxy.port)
    with open_store(url, prefix) as one:
        make_session(one)
        async with open_async_store(url, prefix) as two:
            for n in range(2):
                proxy.cut()
                one.append(ADA, "s", [say(f"a{n}")])
                await two.append(ADA, "s", [say(f"b{n}")])
            assert ids_in(one) == ["a0", "b0", "a1", "b1"]
    proxy.close()


async def test_rule_02_an_append_to_postgres_whose_answer_was_lost_is_written_once(
    postgres: PostgresServer, prefix: str
) -> None:
    proxy = Proxy(postgres.port)
    url = url_of(postgres, proxy.port)
    with open_store(url, prefix) as one:
        make_session(one)
        async with open_async_store(url, prefix) as two:
            one.append(ADA, "s", [say("m0")])
            await two.append(ADA, "s", [say("m1")])
            for n, id in enumerate(["m2", None], 1):
                proxy.swallow_next_answer()
                assert one.append(ADA, "s", [say(id)]).messages[0].depth == 1 + 2 * n
                proxy.swallow_next_answer()
                done = await two.append(ADA, "s", [say(id and f"{id}a")])
                assert done.messages[0].depth == 2 + 2 * n
            assert proxy.swallowed == 4
            assert len(ids_in(one)) == 6
            assert one.admin.check() == []
            COUNTS["answers of PostgreSQL under SQLAlchemy lost"] += 4
    proxy.close()


@pytest.mark.fault
def test_rule_01_a_process_that_writes_to_sqlite_and_is_killed_loses_nothing_it_told_of(
    tmp_path: Path,
) -> None:
    url = f"sqlalchemy+sqlite:///{tmp_path}/s.db"
    for _ in range(2):
        command = [sys.executable, str(WRITER), url, "100000", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(20)]
        process.kill()
        process.communicate()
        COUNTS["a client of SQLite under SQLAlchemy killed"] += 1
    with open_store(url, "sapwood_") as store:
        found = ids_in(store)
        assert found[:20] == told
        assert len(set(found)) == len(found)
        assert store.admin.check() == []


async def test_a_file_that_another_holds_is_busy(tmp_path: Path) -> None:
    url = f"sqlalchemy+sqlite:///{tmp_path}/s.db"
    with open_store(url, "p_", patience_s=0.2) as one:
        make_session(one)
        async with open_async_store(url, "p_", patience_s=0.2) as two:
            await two.append(ADA, "s", [say("m1")])
            with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as raw:
                raw.execute("BEGIN IMMEDIATE")
                with pytest.raises(StoreBusyError) as caught:
                    one.append(ADA, "s", [say("m2")])
                assert caught.value.retryable
                with pytest.raises(StoreBusyError):
                    await two.append(ADA, "s", [say("m2")])
                assert ids_in(one) == ["m1"]
                raw.execute("ROLLBACK")
            one.append(ADA, "s", [say("m2")])
            assert ids_in(one) == ["m1", "m2"]
