"""The same on PostgreSQL and SQLite through SQLAlchemy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from servers.postgres import PostgresServer
from servers.proxy import Proxy

from sapwood.errors import StoreBusyError, StoreUnavailableError

from ..tried import tried
from ..writers import AsyncWriters, Writers
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

POSTGRES: Final = "PostgreSQL through SQLAlchemy"
ROUNDS = 2


def url_of(server: PostgresServer, port: int | None = None) -> str:
    return f"sqlalchemy+{server.url()}".replace(str(server.port), str(port or server.port))


@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_kills_of_postgres_in_the_middle_of_writes(
    postgres: PostgresServer, prefix: str
) -> None:
    with open_store(url_of(postgres), prefix) as store:
        with Writers(store) as writers:
            for _ in range(ROUNDS):
                writers.wait_for_more()
                postgres.kill()
                postgres.start()
            writers.wait_for_more()
        writers.check()
    tried(POSTGRES, "server killed in the middle of writes", ROUNDS)


@pytest.mark.fault
async def test_rule_01_what_tasks_were_told_survives_kills_of_postgres_in_the_middle_of_writes(
    postgres: PostgresServer, prefix: str
) -> None:
    async with open_async_store(url_of(postgres), prefix) as store:
        async with AsyncWriters(store) as writers:
            for _ in range(ROUNDS):
                await writers.let_die(postgres)
        await writers.check()
    tried(POSTGRES, "server killed in the middle of writes", ROUNDS)


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
            tried(POSTGRES, "connection cut", 2)
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
            tried(POSTGRES, "duplicate delivery after a lost answer", 4)
    proxy.close()


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
