"""Engines and URLs: what is taken, and what is refused before it is used."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from servers import mariadb
from servers.sql import Database, MariaDb, Postgres, Sqlite
from servers.url import with_parameters
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool, StaticPool

import sapwood
from sapwood.errors import (
    MissingDependencyError,
    StoreError,
    UsageError,
)
from sapwood.model import NewSession, Read
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, SqlAlchemyStore
from sapwood.testing.makers import ADA, say, shown

from .support import engine_of, furnish, new_id, url_of


def test_an_engine_that_is_given_stays_open(database: Database) -> None:
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as made:
        engine = create_engine(engine_of(made).url)
        prefix = made._runner.here()._worker._tables.session.name.removesuffix("session")
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
    with engine.connect() as conn:
        assert conn.execute(text("SELECT 1")).scalar() == 1
    engine.dispose()


async def test_an_async_engine_that_is_given_stays_open(tmp_path: Path) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    async with AsyncSqlAlchemyStore(engine, new_id=new_id) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")])
    async with engine.connect() as conn:
        assert (await conn.execute(text("SELECT 1"))).scalar() == 1
    await engine.dispose()


def test_an_engine_of_the_other_twin_is_refused(tmp_path: Path, file: Engine) -> None:
    with pytest.raises(UsageError, match="create_async_engine"):
        AsyncSqlAlchemyStore(file, new_id=new_id)  # type: ignore[arg-type]
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    with pytest.raises(UsageError, match="create_engine"):
        SqlAlchemyStore(engine, new_id=new_id)  # type: ignore[arg-type]


def test_sessions_open_by_url(database: Database) -> None:
    with sapwood.open(database.url(), owner="ada") as sessions:
        chat = sessions.session("chat")
        message = chat.append("user", "Where is my order?")
        assert [it.text for it in chat.history().messages_only] == ["Where is my order?"]
        assert abs(message.created_us - time.time_ns() // 1000) < 60_000_000


async def test_the_async_twin_opens_by_url(database: Database) -> None:
    async with sapwood.open_async(database.url(), owner="ada") as sessions:
        chat = await sessions.session("chat")
        await chat.append("user", "hello")
        assert [it.text for it in (await chat.history()).messages_only] == ["hello"]


@pytest.mark.parametrize(
    "url",
    [
        "sqlalchemy+sqlite://",
        "sqlalchemy+sqlite:///:memory:",
        "sqlalchemy+oracle://a:s3cret@b/c",
        "mariadb://a:s3cret@host:port/c",
        "mariadb://a:s3cret@host/c?prefix=a.b",
        "mariadb://a:s3cret@host/c?prefix=1x",
        "mariadb://a:s3cret@host/c?read_timeout=abc",
        "sqlalchemy+mariadb+nosuch://a:s3cret@host/c",
        "sqlalchemy+mariadb+aiomysql://a:s3cret@host/c",
        "sqlalchemy+sqlite:///file::memory:?uri=true",
        "sqlalchemy+sqlite:///file:x?mode=memory&cache=shared&uri=true",
    ],
)
def test_rule_15_a_url_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        sapwood.open(url)
    assert "s3cret" not in repr(caught.value)


def test_rule_15_a_sync_driver_is_refused_by_the_async_twin() -> None:
    with pytest.raises(UsageError, match="async"):
        AsyncSqlAlchemyStore.from_url("sqlalchemy+mariadb+pymysql://a@b/c", new_id=new_id)


def test_a_driver_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingDependencyError, match="pg8000"):
        SqlAlchemyStore.from_url("sqlalchemy+postgresql+pg8000://a@b/c", new_id=new_id)


async def test_rule_15_a_setting_that_the_driver_does_not_know_is_named(mariadb_url: str) -> None:
    url = with_parameters(mariadb_url, nonsense="1")
    with SqlAlchemyStore.from_url(url, new_id=new_id) as store:
        with pytest.raises(UsageError, match="nonsense"):
            store.find_session(ADA, "s")
        with pytest.raises(UsageError, match="nonsense"):
            store.admin.migrate()
    async with AsyncSqlAlchemyStore.from_url(url, new_id=new_id) as later:
        with pytest.raises(UsageError, match="nonsense"):
            await later.find_session(ADA, "s")


def test_a_connection_that_all_would_share_is_refused(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/s.db", poolclass=StaticPool)
    with pytest.raises(UsageError, match="StaticPool"):
        SqlAlchemyStore(engine, new_id=new_id)
    engine.dispose()


def test_an_engine_that_translates_schemas_is_refused(file: Engine) -> None:
    with pytest.raises(UsageError, match="schema"):
        SqlAlchemyStore(file.execution_options(schema_translate_map={None: "other"}), new_id=new_id)


def test_an_engine_of_sqlite_may_begin_transactions_by_its_own_events(file: Engine) -> None:
    """As SQLAlchemy's own page on SQLite advises."""

    def leave_it_to_us(raw: Any, record: object) -> None:
        raw.isolation_level = None

    event.listen(file, "connect", leave_it_to_us)
    event.listen(file, "begin", lambda conn: conn.exec_driver_sql("BEGIN"))
    with SqlAlchemyStore(file, new_id=new_id) as store:
        furnish(store)
        seen: list[str] = []
        event.listen(file, "before_cursor_execute", lambda *args: seen.append(args[2]))
        store.append(ADA, "s", [say("m5")])
        assert "BEGIN IMMEDIATE" in seen
        assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4", "m5"]
        assert store.admin.check() == []


@pytest.mark.parametrize("level", ["SERIALIZABLE", "READ COMMITTED"])
def test_an_engine_of_postgres_may_ask_by_its_own_events(postgres_url: str, level: str) -> None:
    Postgres()
    url = postgres_url.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url, isolation_level=level)
    event.listen(
        engine, "begin", lambda conn: conn.exec_driver_sql("SELECT set_config('a.b', '', true)")
    )
    levels: list[Any] = []
    with SqlAlchemyStore(engine, new_id=new_id, prefix=mariadb.prefix()) as store:
        furnish(store)

        def note(conn: Any, *details: object) -> None:
            levels.append(conn.exec_driver_sql("SHOW transaction_isolation").scalar())

        event.listen(engine, "begin", note)
        store.list_leaves(ADA, "s")
        store.append(ADA, "s", [say("m5"), say("m6")])
    assert levels == ["repeatable read", "read committed"]
    engine.dispose()


def test_what_a_url_tells_postgres_comes_with_how_long_to_wait(postgres_url: str) -> None:
    url = "sqlalchemy+" + with_parameters(postgres_url, options="-c work_mem=8MB")
    with (
        SqlAlchemyStore.from_url(url, new_id=new_id, patience_s=7) as store,
        engine_of(store).connect() as conn,
    ):
        assert conn.exec_driver_sql("SHOW work_mem").scalar() == "8MB"
        assert conn.exec_driver_sql("SHOW lock_timeout").scalar() == "7s"


def test_a_key_is_not_taken_for_what_a_server_says(
    store: SqlAlchemyStore, database: Database
) -> None:
    key = "timed out: max_allowed_packet"
    added: list[object] = []
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as other:
        other.put_document(ADA, "other", b"")

        def add(*args: Any) -> None:
            if isinstance(database, Sqlite) or "INSERT" not in args[2] or added:
                return
            added.append(other.put_document(ADA, key, b"1"))

        event.listen(engine_of(store), "before_cursor_execute", add)
        assert store.put_document(ADA, key, b"2").value == b"2"


def test_an_engine_at_another_isolation_is_used_at_ours(mariadb_url: str) -> None:
    MariaDb()
    url = mariadb_url.replace("mariadb://", "mariadb+pymysql://")
    engine = create_engine(url, isolation_level="SERIALIZABLE")
    seen: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: seen.append(args[2]))
    with SqlAlchemyStore(engine, new_id=new_id, prefix=mariadb.prefix()) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        store.list_leaves(ADA, "s")
    assert "SET TRANSACTION ISOLATION LEVEL READ COMMITTED" in seen
    assert "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ" in seen
    engine.dispose()


COMMITTING: list[dict[str, Any]] = [
    {"isolation_level": "AUTOCOMMIT"},
    {"connect_args": {"autocommit": True}},
]


@pytest.mark.parametrize("options", COMMITTING)
@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_an_engine_that_commits_each_statement_is_refused(
    database: Database, options: dict[str, Any]
) -> None:
    engine = create_engine(url_of(database), **options)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=mariadb.prefix()) as store:
        for call in (
            lambda: store.create_session(ADA, NewSession(id="s")),
            lambda: store.append(ADA, "s", [say("m1"), say("m2")]),
            lambda: store.list_leaves(ADA, "s"),
        ):
            with pytest.raises(StoreError, match="commits each statement"):
                call()
    engine.dispose()


@pytest.mark.parametrize("options", COMMITTING)
@pytest.mark.parametrize(
    ("database", "driver"),
    [("mariadb", "aiomysql"), ("mariadb", "asyncmy"), ("postgres", "psycopg")],
    indirect=["database"],
)
async def test_an_async_engine_that_commits_each_statement_is_refused(
    database: Database, driver: str, options: dict[str, Any]
) -> None:
    url = url_of(database)
    engine = create_async_engine(
        url.set(drivername=f"{url.get_backend_name()}+{driver}"), **options
    )
    async with AsyncSqlAlchemyStore(engine, new_id=new_id, prefix=mariadb.prefix()) as store:
        with pytest.raises(StoreError, match="commits each statement"):
            await store.create_session(ADA, NewSession(id="s"))
    await engine.dispose()


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_engines_that_share_connections_are_each_taken_at_their_own_level(
    database: Database,
) -> None:
    engine = create_engine(url_of(database), isolation_level="READ COMMITTED")
    prefix = mariadb.prefix()
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as store:
        store.create_session(ADA, NewSession(id="s"))
    committing = engine.execution_options(isolation_level="AUTOCOMMIT")
    with (
        SqlAlchemyStore(committing, new_id=new_id, prefix=prefix) as store,
        pytest.raises(StoreError, match="commits each statement"),
    ):
        store.append(ADA, "s", [say("m1"), say("m2")])
    engine.dispose()


def test_a_function_that_makes_engines_is_called_for_each_event_loop(tmp_path: Path) -> None:
    made: list[AsyncEngine] = []

    def make() -> AsyncEngine:
        made.append(create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/a.db"))
        return made[-1]

    store = AsyncSqlAlchemyStore(make, new_id=new_id)
    asyncio.run(store.create_session(ADA, NewSession(id="s")))
    asyncio.run(store.append(ADA, "s", [say("m1")]))
    asyncio.run(store.aclose())
    assert len(made) == 2
    # What was disposed of keeps no connection.
    assert [engine.pool.checkedin() for engine in made] == [0, 0]  # type: ignore[attr-defined]


def test_an_engine_that_was_disposed_of_may_be_used_in_another_event_loop(tmp_path: Path) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    store = AsyncSqlAlchemyStore(engine, new_id=new_id)

    async def use(id: str) -> None:
        if id == "m1":
            await store.create_session(ADA, NewSession(id="s"))
        assert (await store.append(ADA, "s", [say(id)])).written == 1
        await engine.dispose()

    for id in ("m1", "m2"):
        asyncio.run(use(id))
    asyncio.run(store.aclose())


# The connection of the first loop cannot be closed any more.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_of_mariadb_that_was_not_is_refused_and_nothing_stored(
    mariadb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = MariaDb()
    # What is logged would be kept, with the connection that it is about.
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)

    def use_twice() -> None:
        engine = create_async_engine(mariadb_url.replace("mariadb://", "mariadb+aiomysql://"))
        store = AsyncSqlAlchemyStore(engine, prefix=mariadb.prefix(), new_id=new_id)
        asyncio.run(store.create_session(ADA, NewSession(id="s")))
        with pytest.raises(UsageError, match="dispose"):
            asyncio.run(store.append(ADA, "s", [say("m1")]))
        asyncio.run(engine.dispose(close=False))

    use_twice()
    gc.collect()
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as store:
        assert shown(store.read(ADA, "s", Read())) == []


def test_an_engine_that_keeps_no_connection_may_be_used_in_several_event_loops_at_once(
    tmp_path: Path,
) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/a.db", poolclass=NullPool)
    store = AsyncSqlAlchemyStore(engine, new_id=new_id)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(store.create_session(ADA, NewSession(id="s")))
        second.run(store.append(ADA, "s", [say("m1")]))
        assert shown(first.run(store.read(ADA, "s", Read()))) == ["m1"]
        second.run(store.aclose())
