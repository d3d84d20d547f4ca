"""What the SQLAlchemy store has of its own: engines, names, tables and columns of the user's."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import count
from pathlib import Path
from typing import Any

import pymysql
import pytest
from servers import mariadb
from servers.proxy import Proxy
from servers.sql import Database, MariaDb, Postgres, Sqlite
from sqlalchemy import Column, Engine, String, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

import sapwood
from sapwood.errors import (
    MigrationNeededError,
    MissingDependencyError,
    NotFoundError,
    SchemaError,
    SchemaTooNewError,
    StaleVersionError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    UsageError,
)
from sapwood.model import Changes, NewMessage, NewSession, Read, Search, SessionQuery, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, NewRow, SqlAlchemyStore
from sapwood.stores.sqlalchemy.tables import Tables
from sapwood.stores.sqlalchemy.tx import Statements, Tx
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


@pytest.fixture(params=["mariadb", "postgres", "sqlite"])
def database(request: pytest.FixtureRequest) -> Database:
    if request.param == "sqlite":
        return Sqlite()
    request.getfixturevalue(f"{request.param}_url")
    return MariaDb() if request.param == "mariadb" else Postgres()


@pytest.fixture
def store(database: Database) -> Iterator[SqlAlchemyStore]:
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as store:
        store.admin.migrate()
        yield store


def engine_of(store: SqlAlchemyStore) -> Engine:
    return store._runner._engine


def names_in(engine: Engine, prefix: str) -> set[str]:
    return {name for name in inspect(engine).get_table_names() if name.startswith(prefix)}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path}/own.db")
    yield engine
    engine.dispose()


def furnish(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    for id in ("m1", "m2", "m3", "m4"):
        store.append(ADA, "s", [say(id, tokens=2)])
    store.append(ADA, "s", [say("x1"), say("x2")], parent="m2")
    store.create_session(ADA, fork_of("s", "m3"))
    store.append(ADA, "fork", [say("f1")])
    store.update_message(ADA, "s", say("m1", "changed", tokens=50))
    store.checkout(ADA, "s", "m4")
    store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
    store.settle()


# what is compared and kept


ALIKE = [
    "id",
    "ID",
    "íd",
    "id ",
    "id  ",
    " id",
    "i\u0301d",
    "\u0131d",
    "\U0001d48ad",
    "ss",
    "ß",
    "SS",
]


def test_ids_are_compared_byte_by_byte(store: SqlAlchemyStore) -> None:
    for owner in ALIKE:
        store.create_session(owner, NewSession(id="s", title=owner))
    for id in ALIKE:
        store.create_session(ADA, NewSession(id=id, title=id, tags=[id], state=id))
        store.append(ADA, id, [say(other, text=f"{id}/{other}") for other in ALIKE])
        store.put_document(ADA, id, id.encode())
    for id in ALIKE:
        assert store.find_session(ADA, id).title == id  # type: ignore[union-attr]
        assert store.find_session(id, "s").title == id  # type: ignore[union-attr]
        found = store.find_messages(ADA, id, ALIKE)
        assert [it and it.text for it in found] == [f"{id}/{other}" for other in ALIKE]
        document = store.find_document(ADA, id)
        assert document is not None
        assert document.value == id.encode()
        for query in ({"tags": [id]}, {"state": id}):
            page = store.list_sessions(ADA, SessionQuery(**query))  # type: ignore[arg-type]
            assert [it.id for it in page.sessions] == [id]
    assert store.admin.list_owners() == sorted([ADA, *ALIKE], key=str.encode)


def test_every_character_and_byte_comes_back(store: SqlAlchemyStore) -> None:
    odd = "".join(map(chr, [0, 1, 10, 34, 37, 39, 58, 92, 0x85, 0x2028, 0xFFFF, 0x1F600, 0x10FFFF]))
    store.create_session(ADA, NewSession(id="s", title=odd, data={odd: odd}))
    store.append(ADA, "s", [NewMessage(role="user", parts=[TextPart(text=odd)])])
    every_byte = bytes(range(256)) * 40
    store.put_document(ADA, "k", every_byte)
    record = store.find_session(ADA, "s")
    assert record is not None
    assert (record.title, record.data) == (odd, {odd: odd})
    assert store.read(ADA, "s", Read()).messages[0].text == odd
    document = store.find_document(ADA, "k")
    assert document is not None
    assert document.value == every_byte


def test_the_longest_names_can_be_kept_and_found(store: SqlAlchemyStore) -> None:
    long = "é" * 128
    store.create_session(long, NewSession(id=long, state=long, tags=[long]))
    store.append(long, long, [say(long)])
    store.put_document(long, long, b"v", session=long)
    assert store.find_messages(long, long, [long])[0] is not None
    assert [it.key for it in store.list_documents(long, "éé", session=long)] == [long]


# engines and URLs


def test_an_engine_that_is_given_stays_open(database: Database) -> None:
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as made:
        engine = create_engine(engine_of(made).url)
        prefix = made._runner._worker._tables.session.name.removesuffix("session")
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
        assert [it.text for it in chat.history().messages] == ["Where is my order?"]
        assert abs(message.created_us - time.time_ns() // 1000) < 60_000_000


async def test_the_async_twin_opens_by_url(database: Database) -> None:
    async with sapwood.open_async(database.url(), owner="ada") as sessions:
        chat = await sessions.session("chat")
        await chat.append("user", "hello")
        assert [it.text for it in (await chat.history()).messages] == ["hello"]


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
    url = f"{mariadb_url}?nonsense=1"
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
    url = f"sqlalchemy+{postgres_url}?options=-c%20work_mem%3D8MB"
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


def url_of(database: Database) -> Any:
    """Give the URL of a database as SQLAlchemy takes it."""
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as made:
        return engine_of(made).url


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


# what a call costs


def statements_of(store: SqlAlchemyStore, call: Any) -> list[str]:
    seen: list[str] = []
    engine = engine_of(store)

    def note(*args: Any) -> None:
        seen.append(args[2].lstrip("(").partition(" ")[0])

    call()
    event.listen(engine, "before_cursor_execute", note)
    call()
    event.remove(engine, "before_cursor_execute", note)
    return [word for word in seen if word != "BEGIN"]


@contextlib.contextmanager
def counted(database: Database) -> Iterator[tuple[SqlAlchemyStore, Proxy]]:
    """Open a store through a proxy, which counts what it is asked."""
    host, port = re.findall(r"@([^:/]+):(\d+)", database.url())[0]
    if host not in ("127.0.0.1", "localhost"):
        pytest.skip("the proxy is for a server on this machine")
    proxy = Proxy(int(port))
    url = database.url().replace(f":{port}/", f":{proxy.port}/")
    clock = time.time_ns
    try:
        with SqlAlchemyStore.from_url(url, new_id=new_id, clock=lambda: clock() // 1000) as store:
            store.create_session(ADA, NewSession(id="s"))
            store.append(ADA, "s", [say(f"m{n}") for n in range(300)])
            yield store, proxy
    finally:
        proxy.close()


def trips(proxy: Proxy, call: Any) -> int:
    """Count the round trips of a call, which was made before as often as a driver waits for."""
    for _ in range(12):
        call()
    before = proxy.requests
    call()
    return proxy.requests - before


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_rule_03_an_append_is_one_round_trip_however_long_the_history(database: Database) -> None:
    ids = count()
    with counted(database) as (store, proxy):
        assert trips(proxy, lambda: store.append(ADA, "s", [say(None)])) == 1
        assert trips(proxy, lambda: store.append(ADA, "s", [say(f"n{next(ids)}")])) == 1
        assert store.admin.check() == []


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_rule_04_a_read_up_to_the_tip_is_one_round_trip_and_its_end(database: Database) -> None:
    ends = 1 if isinstance(database, MariaDb) else 0
    with counted(database) as (store, proxy):
        for query in (Read(), Read(limit=5, backwards=True), Read(after=3, before=9)):
            assert trips(proxy, lambda query=query: store.read(ADA, "s", query)) == 1 + ends
        assert trips(proxy, lambda: store.find_session(ADA, "s")) == 1 + ends


def test_rule_03_an_append_to_sqlite_is_three_statements(tmp_path: Path) -> None:
    url = f"sqlalchemy+sqlite:///{tmp_path}/s.db"
    with SqlAlchemyStore.from_url(url, new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say(f"m{n}") for n in range(300)])
        # Rows are numbered by a counter.
        wanted = ["UPDATE", "UPDATE", "INSERT"]
        assert statements_of(store, lambda: store.append(ADA, "s", [say(None)])) == wanted


def test_a_database_without_blocks_is_sent_two_statements(
    mariadb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MySQL is, which has none: here it is MariaDB that is not asked for one."""
    monkeypatch.setattr("sapwood.stores.sqlalchemy.alone.has_blocks", lambda dialect: False)
    ids = count()
    with SqlAlchemyStore.from_url(MariaDb().url(), new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("first")])
        call = lambda: store.append(ADA, "s", [say(f"m{next(ids)}")])  # noqa: E731
        assert statements_of(store, call) == ["UPDATE", "INSERT"]
        assert store.append(ADA, "s", [say("m1")]).written == 0
        assert [it.depth for it in store.read(ADA, "s", Read()).messages] == [1, 2, 3]
        assert store.admin.check() == []


def test_rule_04_a_read_up_to_the_tip_is_one_statement(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"m{n}") for n in range(30)])
    for query in (Read(), Read(limit=5, backwards=True), Read(after=3, before=9)):
        assert statements_of(store, lambda query=query: store.read(ADA, "s", query)) == ["SELECT"]
    assert statements_of(store, lambda: store.find_session(ADA, "s")) == ["SELECT"]


def rows_read(engine: Engine, text_of: str, params: Any) -> int:
    """Count the rows that a statement reads on its way."""
    with engine.connect() as conn:
        if engine.dialect.name == "postgresql":
            plan = conn.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {text_of}", params)
            return _rows_of(plan.scalar()[0]["Plan"])  # type: ignore[index]
        conn.exec_driver_sql("FLUSH STATUS")
        conn.exec_driver_sql(text_of, params).all()
        counts = conn.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler_read%%'", ())
        return sum(int(number) for _, number in counts)


def _rows_of(plan: dict[str, Any]) -> int:
    """Add up what is read from tables, where all else comes from."""
    inner = sum(_rows_of(it) for it in plan.get("Plans", []))
    left_out = plan.get("Rows Removed by Filter", 0)
    own = plan["Actual Rows"] + left_out if "Relation Name" in plan else 0
    return int(inner + own * plan["Actual Loops"])


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_rule_04_the_end_of_a_long_history_is_read_without_the_rest(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("first")])
    engine = engine_of(store)
    table = store._runner._worker._tables.message.name
    if engine.dialect.name == "postgresql":
        # What the server knows of the table is what it was when it was small.
        with engine.begin() as conn:
            conn.exec_driver_sql(f"ANALYZE {table}")
    for start in range(0, 3_000, 500):
        store.append(ADA, "s", [say(f"m{start + n}") for n in range(500)])
    asked: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda *args: asked.append((args[2], args[3])))
    store.read(ADA, "s", Read(backwards=True, limit=50))
    (only,) = asked
    assert 50 <= rows_read(engine, *only) < 300


def test_the_statements_of_a_search_do_not_grow_with_what_is_searched(
    store: SqlAlchemyStore,
) -> None:
    for n in range(30):
        store.create_session(ADA, NewSession(id=f"s{n}", title=f"of {n}"))
        store.append(ADA, f"s{n}", [say(None, f"Where is it, {m}?") for m in range(40)])
        store.append(ADA, f"s{n}", [say(None, "ÜBER allen Gipfeln")])
    store.append(ADA, "s7", [say("rare", "In the WareHouse")])
    store.add_overlay(ADA, "s7", cover("rare", "rare", id="o"))
    for n in (3, 4):
        store.create_session(
            ADA, fork_of(f"s{n}", store.find_session(ADA, f"s{n}").tip, id=f"f{n}")
        )  # type: ignore[union-attr, arg-type]
        store.delete_session(ADA, f"s{n}")
    for text_of, most in (("warehouse", 8), ("über", 9), ("where", 15), ("wher* OR über", 15)):
        for session in (None, "s7"):
            search = Search(text=text_of, session=session, limit=5)
            assert (
                len(statements_of(store, lambda search=search: store.search(ADA, search))) <= most
            )
    found = store.search(ADA, Search(text="über", limit=100)).hits
    assert {hit.session for hit in found} == {*(f"s{n}" for n in range(30)), "f3", "f4"} - {
        "s3",
        "s4",
    }
    assert [hit.entry.id for hit in store.search(ADA, Search(text="WAREHOUSE")).hits] == ["rare"]


async def test_appends_that_arrive_together_go_out_together(database: Database) -> None:
    import asyncio

    async with AsyncSqlAlchemyStore.from_url(database.url(), new_id=new_id) as store:
        for n in range(20):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say("m0")])
        commits: list[object] = []
        core = store._runner._engine.sync_engine
        event.listen(core, "commit", note := lambda conn: commits.append(conn))
        await asyncio.gather(*(store.append(ADA, f"s{n}", [say("m1")]) for n in range(20)))
        await asyncio.gather(*(store.append(ADA, "s0", [say(None)]) for n in range(5)))
        event.remove(core, "commit", note)
        assert len(commits) < 16
        for n in range(1, 20):
            assert shown(await store.read(ADA, f"s{n}", Read())) == ["m0", "m1"]
        assert len((await store.read(ADA, "s0", Read())).messages) == 7
        assert await store.admin.check() == []


# how writers and readers wait for each other


@contextlib.contextmanager
def owner_held(store: SqlAlchemyStore) -> Iterator[None]:
    """Hold the lock of an owner alone, as a reader of the change feed does."""
    tables = store._runner._worker._tables
    with engine_of(store).connect() as conn:
        tx = Tx(conn, Statements(tables), None)
        tx.lock_owner(ADA, shared=False)
        yield
        conn.rollback()


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_an_append_of_any_kind_waits_for_a_reader_of_the_feed(database: Database) -> None:
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id, patience_s=1) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1"), say("m2")])
        calls = {
            "one": lambda: store.append(ADA, "s", [say("one")]),
            "two": lambda: store.append(ADA, "s", [say("two"), say("three")]),
            "delete": lambda: store.delete_messages(ADA, "s", ["m1"]),
            "update": lambda: store.update_message(ADA, "s", say("m2", "changed")),
            "retire": lambda: store.delete_session(ADA, "s"),
        }
        for name, call in calls.items():
            with owner_held(store), pytest.raises(StoreBusyError):
                call()
            if name != "retire":
                call()
        assert shown(store.read(ADA, "s", Read())) == ["m2", "one", "two", "three"]


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
async def test_appends_that_go_together_wait_for_a_reader_of_the_feed(database: Database) -> None:
    import asyncio

    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as other:
        for n in range(6):
            other.create_session(ADA, NewSession(id=f"s{n}"))
            other.append(ADA, f"s{n}", [say("m0")])
        async with AsyncSqlAlchemyStore.from_url(
            database.url(), new_id=new_id, patience_s=1
        ) as store:
            with owner_held(other):
                calls = [store.append(ADA, f"s{n}", [say("m1")]) for n in range(6)]
                done = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(it) for it in done} == {StoreBusyError}


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_rule_04_a_read_of_several_statements_sees_one_snapshot(
    store: SqlAlchemyStore, database: Database
) -> None:
    furnish(store)
    before = store.read(ADA, "s", Read())
    engine, written = engine_of(store), []
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as other:

        def write(*args: Any) -> None:
            if "SELECT" in args[2] and not written:
                written.append(other.update_message(ADA, "s", say("m4", "between", tokens=9)))
                other.append(ADA, "s", [say("late")])

        # After its first statement, a read goes on as if nothing had come.
        event.listen(engine, "after_cursor_execute", write)
        seen = store._runner.read(lambda unit: unit.messages.read(ADA, "s", Read()))
        event.remove(engine, "after_cursor_execute", write)
    assert written
    assert seen == before
    assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4", "late"]


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_a_document_that_is_replaced_while_it_is_deleted_is_gone(
    store: SqlAlchemyStore, database: Database
) -> None:
    store.put_document(ADA, "k", b"1")
    asked: list[Future[bool]] = []
    with (
        SqlAlchemyStore.from_url(database.url(), new_id=new_id) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        other.find_document(ADA, "k")

        def delete(conn: object) -> None:
            if not asked:
                asked.append(thread.submit(other.delete_document, ADA, "k"))
                wait(asked, 0.5)  # it waits for what is about to be committed

        event.listen(engine_of(store), "commit", delete)
        store.put_document(ADA, "k", b"2")
        assert asked[0].result()
    assert store.find_document(ADA, "k") is None


DAYS_S = 24 * 3600


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_a_reader_that_is_named_while_the_feed_is_trimmed_is_refused_or_kept(
    database: Database,
) -> None:
    clock = ManualClock()
    named: list[Future[Changes]] = []
    with (
        SqlAlchemyStore.from_url(database.url(), new_id=new_id, clock=clock) as store,
        SqlAlchemyStore.from_url(database.url(), new_id=new_id, clock=clock) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        cursor = other.changes(ADA).cursor
        store.delete_messages(ADA, "s", ["m1"])
        clock.advance(3 * DAYS_S)

        def name(*args: Any) -> None:
            if "_reader" in args[2] and not named:
                named.append(thread.submit(other.changes, ADA, after=cursor, reader="r"))
                wait(named, 0.5)

        event.listen(engine_of(store), "after_cursor_execute", name)
        store.settle()
        if not isinstance(named[0].exception(), NotFoundError):
            # It was told that what follows is kept for it.
            assert len(named[0].result().changes) == 1
            assert len(other.changes(ADA, after=cursor, reader="r").changes) == 1


def test_a_cursor_before_the_first_message_is_trimmed_behind_like_others(
    database: Database,
) -> None:
    clock = ManualClock()
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id, clock=clock) as store:
        for id in ("one", "two"):
            store.create_session(ADA, NewSession(id=id))
        store.delete_session(ADA, "one")
        cursor = store.changes(ADA).cursor
        store.delete_session(ADA, "two")
        clock.advance(3 * DAYS_S)
        store.settle()
        with pytest.raises(NotFoundError, match="trimmed"):
            store.changes(ADA, after=cursor)
        assert store.changes(ADA).changes == []


async def test_rule_02_forks_that_append_together_know_what_they_inherited(
    database: Database,
) -> None:
    import asyncio

    async with AsyncSqlAlchemyStore.from_url(database.url(), new_id=new_id) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m0"), say("m1")])
        for n in range(12):
            await store.create_session(ADA, fork_of("s", "m1", id=f"f{n}"))
            await store.append(ADA, f"f{n}", [say("own")])
        again = [store.append(ADA, f"f{n}", [say("m0")]) for n in range(12)]
        assert [it.written for it in await asyncio.gather(*again)] == [0] * 12
        for n in range(12):
            assert shown(await store.read(ADA, f"f{n}", Read())) == ["m0", "m1", "own"]


def test_a_fork_that_wrote_nothing_shows_whose_messages_they_are(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1", tokens=3), say("m2", tokens=4), say("m3", tokens=5)])
    store.create_session(ADA, fork_of("s", "m2"))
    history = store.read(ADA, "fork", Read())
    assert [(it.id, it.home) for it in history.messages] == [("m1", "s"), ("m2", "s")]
    store.append(ADA, "fork", [say("f1", tokens=6)])
    found = store.read(ADA, "fork", Read()).messages
    assert [(it.id, it.home) for it in found] == [("m1", "s"), ("m2", "s"), ("f1", "fork")]


def test_what_a_fork_shows_is_counted_right_before_sums_are_renewed(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1", tokens=3), say("m2", tokens=4)])
    store.create_session(ADA, fork_of("s", "m2"))
    store.append(ADA, "fork", [say("f1", tokens=5), say("f2", tokens=1)])
    after = store._runner._worker._tables.stale
    store.update_message(ADA, "s", say("m1", "longer", tokens=50))
    with engine_of(store).connect() as conn:
        assert len(conn.execute(after.select()).all()) == 1
    whole = Read(backwards=True, limit=1)
    assert store.read(ADA, "fork", whole).context_tokens == 60
    store.settle()
    assert store.read(ADA, "fork", whole).context_tokens == 60


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_a_connection_comes_back_without_what_was_left_open_on_it(store: SqlAlchemyStore) -> None:
    table = store._runner._worker._tables.home.name
    with engine_of(store).connect() as conn:
        before = conn.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
    with engine_of(store).connect() as conn:
        # Behind its back: what it does not know of, it does not roll back.
        conn.connection.cursor().execute(f"INSERT INTO {table} (number) VALUES (999999)")
    with engine_of(store).connect() as conn:
        assert conn.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == before


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
async def test_a_session_that_is_held_up_does_not_fail_those_that_go_with_it(
    database: Database,
) -> None:
    import asyncio

    async with AsyncSqlAlchemyStore.from_url(database.url(), new_id=new_id, patience_s=1) as store:
        for n in range(6):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say("m0")])
        sessions = store._runner._worker._tables.session
        held = sessions.select().where(sessions.c.id == "s4").with_for_update()
        async with store._runner._engine.connect() as conn:
            await conn.execute(held)
            calls = [store.append(ADA, f"s{n}", [say("m1")]) for n in range(6)]
            done = await asyncio.gather(*calls, return_exceptions=True)
            await conn.rollback()
        assert [n for n, it in enumerate(done) if isinstance(it, StoreBusyError)] == [4]
        assert (await store.append(ADA, "s4", [say("m1")])).written == 1
        assert await store.admin.check() == []


@pytest.mark.parametrize("driver", ["aiomysql", "asyncmy"])
async def test_what_is_said_is_never_run_where_a_backslash_is_a_letter(
    mariadb_url: str, driver: str
) -> None:
    prefix = f"{mariadb.prefix()}mode_"
    with SqlAlchemyStore.from_url(f"{mariadb_url}?prefix={prefix}", new_id=new_id) as other:
        other.admin.migrate()
    mariadb.empty(prefix)
    url = mariadb_url.replace("mariadb:", f"sqlalchemy+mariadb+{driver}:")
    url += f"?prefix={prefix}&init_command=SET%20sql_mode%3D'NO_BACKSLASH_ESCAPES'"
    said = ["it's", 'a "quote" and a \\', "x'), (0) -- "]
    async with AsyncSqlAlchemyStore.from_url(url, new_id=new_id) as store:
        if driver == "asyncmy":
            with pytest.raises(StoreError, match="NO_BACKSLASH_ESCAPES"):
                await store.create_session(ADA, NewSession(id="s"))
            return
        await store.create_session(ADA, NewSession(id="s"))
        for words in said:
            await store.append(ADA, "s", [say(None, words)])
        await store.append(ADA, "s", [say(None, words) for words in said])
        assert [it.text for it in (await store.read(ADA, "s", Read())).messages] == said * 2


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
async def test_callers_that_are_cancelled_leave_no_connection_that_cannot_be_used(
    database: Database,
) -> None:
    import asyncio

    async with AsyncSqlAlchemyStore.from_url(
        database.url(), new_id=new_id, most_connections=3
    ) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m0")])
        for n in range(120):
            calls: list[Any] = [
                lambda n=n: store.append(ADA, "s", [say(f"a{n}"), say(f"b{n}")]),
                lambda: store.put_document(ADA, "k", b"v"),
                lambda: store.list_leaves(ADA, "s"),
            ]
            task = asyncio.create_task(calls[n % 3]())
            await asyncio.sleep(n * 0.00004)
            task.cancel()
            await asyncio.wait([task])
        engine = store._runner._engine
        conns = [await engine.connect() for _ in range(3)]
        for conn in conns:
            assert (await conn.exec_driver_sql("SELECT 1")).scalar() == 1
        for conn in conns:
            await conn.close()
        assert await store.admin.check() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_store_goes_on_in_another_event_loop(database: Database) -> None:
    import asyncio

    store = AsyncSqlAlchemyStore.from_url(database.url(), new_id=new_id)

    async def use(*ids: str) -> list[str]:
        for id in ids:
            await store.append(ADA, "s", [say(id)])
        return shown(await store.read(ADA, "s", Read()))

    async def end() -> list[str]:
        async with store:
            return await use("m3", "m4")

    asyncio.run(store.create_session(ADA, NewSession(id="s")))
    assert asyncio.run(use("m1", "m2")) == ["m1", "m2"]
    assert asyncio.run(end()) == ["m1", "m2", "m3", "m4"]
    # What belonged to the loops before cannot be closed any more, and is cleared away.
    gc.collect()


def test_a_reader_may_stay_where_it_is_whatever_a_driver_counts(mariadb_url: str) -> None:
    MariaDb()
    address = make_url(mariadb_url)

    def connect() -> Any:
        # Without the flag that SQLAlchemy sets: rows that stay as they are do not count.
        return pymysql.connect(
            host=address.host,
            port=address.port or 3306,
            user=address.username,
            password=address.password or "",
            database=address.database,
        )

    engine = create_engine("mariadb+pymysql://", creator=connect)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=mariadb.prefix()) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        for _ in range(2):
            assert len(store.changes(ADA, reader="r").changes) == 1
    engine.dispose()


# names and tables of the user's


RENAMED = {
    "tables": {"message": "chat_lines", "session": "chats"},
    "columns": {"message": {"body": "content", "id": "line_id"}, "session": {"id": "chat_id"}},
}


def test_tables_and_columns_have_the_names_that_are_asked_for(database: Database) -> None:
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as made:
        engine = create_engine(engine_of(made).url)
    with engine.begin() as conn:
        for name in names_in(engine, "rn_") | (names_in(engine, "chat")):
            conn.execute(text(f"DROP TABLE {name}"))
    with SqlAlchemyStore(engine, new_id=new_id, prefix="rn_", **RENAMED) as store:  # type: ignore[arg-type]
        furnish(store)
        assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
        assert shown(store.read(ADA, "fork", Read())) == ["m1", "m2", "m3", "f1"]
        assert [it.entry.id for it in store.search(ADA, Search(text="f1")).hits] == ["f1"]
        store.delete_session(ADA, "s")
        store.settle()
        assert store.admin.check() == []
    assert {"chat_lines", "chats"} <= names_in(engine, "chat")
    assert {"content", "line_id"} <= {
        it["name"] for it in inspect(engine).get_columns("chat_lines")
    }
    assert "rn_message" not in names_in(engine, "rn_")
    with engine.begin() as conn:
        for name in names_in(engine, "rn_") | names_in(engine, "chat"):
            conn.execute(text(f"DROP TABLE {name}"))
    engine.dispose()


def test_rule_15_a_name_for_what_we_do_not_have_is_refused(file: Engine) -> None:
    with pytest.raises(UsageError, match="messages"):
        SqlAlchemyStore(file, new_id=new_id, tables={"messages": "x"})
    with pytest.raises(UsageError, match="content"):
        SqlAlchemyStore(file, new_id=new_id, columns={"message": {"content": "x"}})


@pytest.mark.parametrize(
    "names",
    [
        {"columns": {"message": {"id": "role"}}},
        {"columns": {"message": {"id": ""}}},
        {"tables": {"message": "x", "session": "x"}},
        {"tables": {"message": ""}},
    ],
)
def test_rule_15_names_that_cannot_be_used_are_refused(file: Engine, names: Any) -> None:
    with pytest.raises(UsageError):
        SqlAlchemyStore(file, new_id=new_id, **names)


def of_the_users(engine: Engine, **options: Any) -> Tables:
    """Make tables as a user would: ours under other names, and some columns more."""
    tables = Tables(engine.dialect.name, prefix="my_", **options)
    for name in ("session", "message"):
        tables.of(name).append_column(Column("tenant", String(20), nullable=False))
    return tables


def tenant(row: NewRow) -> dict[str, Any]:
    if row.table not in ("session", "message"):
        return {}
    return {"tenant": f"{row.owner}:{row.session}:{row.id}"[:20]}


def test_the_users_own_tables_are_filled_with_their_extra_columns(database: Database) -> None:
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as made:
        engine = create_engine(engine_of(made).url)
    tables = of_the_users(engine, **RENAMED)
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    options: dict[str, Any] = {"prefix": "my_", "own_tables": True, "extra": tenant, **RENAMED}
    with SqlAlchemyStore(engine, new_id=new_id, **options) as store:
        furnish(store)
        store.create_session(ADA, fork_of("s", "m2", id="copy", detach=True))
        assert shown(store.read(ADA, "copy", Read())) == ["m1", "m2"]
        assert store.admin.check() == []
        with pytest.raises(StoreError, match="brought along"):
            store.admin.migrate()
    with engine.connect() as conn:
        lines = conn.execute(text("SELECT tenant FROM chat_lines ORDER BY 1")).scalars().all()
        chats = conn.execute(text("SELECT tenant FROM chats ORDER BY 1")).scalars().all()
    assert {"ada:s:m1", "ada:s:x2", "ada:fork:f1", "ada:copy:m2"} <= set(lines)
    assert chats == ["ada:copy:copy", "ada:fork:fork", "ada:s:s"]
    tables.metadata.drop_all(engine)
    engine.dispose()


def of_some(row: NewRow) -> dict[str, Any]:
    """Give a column for some rows of a batch only, and another for others."""
    if row.table != "message" or row.id is None:
        return {}
    return {"t": {"tenant": row.id}, "n": {"note": row.id}}.get(row.id[0], {})


async def test_extra_columns_may_differ_from_row_to_row(database: Database) -> None:
    import asyncio

    url = url_of(database)
    drivers = {"mariadb": "aiomysql", "postgresql": "psycopg", "sqlite": "aiosqlite"}
    kind = url.get_backend_name()
    engine = create_async_engine(url.set(drivername=f"{kind}+{drivers[kind]}"))
    tables = Tables(kind, prefix="some_")
    for name in ("tenant", "note"):
        tables.message.append_column(Column(name, String(20)))
    async with engine.begin() as conn:
        await conn.run_sync(tables.metadata.drop_all)
        await conn.run_sync(tables.metadata.create_all)
    options: dict[str, Any] = {"prefix": "some_", "own_tables": True, "extra": of_some}
    async with AsyncSqlAlchemyStore(engine, new_id=new_id, **options) as store:
        for n in range(9):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say(id) for id in ("a", "t1", "n1", "t2", "b")])
        # Those that come while others are sent go together.
        calls = [store.append(ADA, f"s{n}", [say(f"{'xtn'[n % 3]}9")]) for n in range(9)]
        assert [it.written for it in await asyncio.gather(*calls)] == [1] * 9
        assert await store.admin.check() == []
    async with engine.connect() as conn:
        rows = (await conn.execute(text("SELECT id, tenant, note FROM some_message"))).all()
        await conn.run_sync(tables.metadata.drop_all)
        await conn.commit()
    assert len(rows) == 9 * 6
    for id, *given in rows:
        id = id.decode() if isinstance(id, bytes) else id
        assert given == [id if id[0] == letter else None for letter in "tn"]
    await engine.dispose()


def test_what_the_users_tables_lack_is_named(file: Engine) -> None:
    tables = Tables("sqlite", prefix="my_")
    tables.metadata.create_all(file)
    with file.begin() as conn:
        conn.execute(text("DROP TABLE my_usage"))
        conn.execute(text("DROP INDEX my_message_by_time"))
        conn.execute(text("ALTER TABLE my_message RENAME COLUMN created_at TO at"))
    store = SqlAlchemyStore(file, new_id=new_id, prefix="my_", own_tables=True)
    with store, pytest.raises(SchemaError) as caught:
        store.find_session(ADA, "s")
    assert "table my_usage" in str(caught.value)
    assert "column my_message.created_at" in str(caught.value)
    assert "my_session" not in str(caught.value)


def test_rule_02_a_users_table_that_would_take_a_message_twice_is_refused(
    database: Database,
) -> None:
    engine = create_engine(url_of(database))
    tables = Tables(engine.dialect.name, prefix="twice_")
    keys: list[Any] = [*tables.message.constraints]
    keys = [it for it in keys if {"home", "id"} == {*it.columns.keys()}]
    tables.message.constraints -= {*keys}
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    options: dict[str, Any] = {"prefix": "twice_", "own_tables": True}
    store = SqlAlchemyStore(engine, new_id=new_id, **options)
    with store, pytest.raises(SchemaError, match=r"\(home, id\) of twice_message"):
        store.create_session(ADA, NewSession(id="s"))
    with engine.begin() as conn:
        conn.execute(text("CREATE UNIQUE INDEX twice_ids ON twice_message (home, id)"))
    with SqlAlchemyStore(engine, new_id=new_id, **options) as store:
        store.create_session(ADA, NewSession(id="s"))
        assert [store.append(ADA, "s", [say("m1")]).written for _ in range(3)] == [1, 0, 0]
    tables.metadata.drop_all(engine)
    engine.dispose()


def test_a_users_table_without_transactions_is_refused(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url.replace("mariadb://", "mariadb+pymysql://"))
    tables = Tables("mariadb", prefix="half_")
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    with engine.begin() as conn:
        conn.execute(text("ALTER TABLE half_message ENGINE=MyISAM"))
    store = SqlAlchemyStore(engine, new_id=new_id, prefix="half_", own_tables=True)
    with store, pytest.raises(SchemaError, match="transactions in half_message"):
        store.find_session(ADA, "s")
    tables.metadata.drop_all(engine)
    engine.dispose()


def test_a_users_table_that_would_mix_up_ids_is_refused(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url.replace("mariadb://", "mariadb+pymysql://"))
    tables = Tables("mariadb", prefix="ci_")
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    with engine.begin() as conn:
        conn.execute(text("ALTER TABLE ci_message MODIFY id VARCHAR(200) NOT NULL"))
    store = SqlAlchemyStore(engine, new_id=new_id, prefix="ci_", own_tables=True)
    with store, pytest.raises(SchemaError, match=r"ci_message\.id"):
        store.find_session(ADA, "s")
    tables.metadata.drop_all(engine)
    engine.dispose()


def too_much(row: NewRow) -> dict[str, Any]:
    return {"tree": 1} if row.table == "session" else {}


def test_rule_15_extra_may_not_fill_what_is_ours(file: Engine) -> None:
    store = SqlAlchemyStore(file, new_id=new_id, extra=too_much)
    with store, pytest.raises(UsageError, match="tree"):
        store.create_session(ADA, NewSession(id="s"))


# set-up


def test_without_auto_migrate_nothing_is_made_until_it_is_asked_for(file: Engine) -> None:
    with SqlAlchemyStore(file, new_id=new_id, auto_migrate=False) as store:
        with pytest.raises(MigrationNeededError):
            store.find_session(ADA, "s")
        assert names_in(file, "") == set()
        assert store.admin.migrate() == 1
        furnish(store)
        assert store.admin.schema_version() == 1


def test_a_newer_schema_is_refused_and_not_touched(store: SqlAlchemyStore) -> None:
    migration = store._runner._worker._tables.migration
    engine = engine_of(store)
    later = {"version": 99, "name": "later", "checksum": "x", "applied_at": 0}
    with engine.begin() as conn:
        conn.execute(migration.insert().values(**later))
    try:
        with SqlAlchemyStore(
            engine, new_id=new_id, prefix=migration.name.removesuffix("migration")
        ) as other:
            with pytest.raises(SchemaTooNewError, match="99"):
                other.find_session(ADA, "s")
            with pytest.raises(SchemaTooNewError):
                other.admin.migrate()
    finally:
        with engine.begin() as conn:
            conn.execute(migration.delete().where(migration.c.version == 99))


def test_a_migration_that_was_broken_off_is_finished(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url.replace("mariadb://", "mariadb+pymysql://"))
    tables = Tables("mariadb", prefix="half_")
    tables.metadata.drop_all(engine)
    with SqlAlchemyStore(engine, new_id=new_id, prefix="half_") as store:
        furnish(store)
    with engine.begin() as conn:
        for text_of in (
            "DROP TABLE half_stale",
            "DROP INDEX half_message_by_time ON half_message",
            "DELETE FROM half_migration",
        ):
            conn.execute(text(text_of))
    with SqlAlchemyStore(engine, new_id=new_id, prefix="half_") as store:
        assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
    indexes = {it["name"] for it in inspect(engine).get_indexes("half_message")}
    assert "half_message_by_time" in indexes
    tables.metadata.drop_all(engine)
    engine.dispose()


# derived figures


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("UPDATE {p}segment SET lineage = ''", "segment"),
        ("UPDATE {p}message SET path_tokens = path_tokens + 1 WHERE id = 'm2'", "message"),
        ("UPDATE {p}in_force SET last = last - 1", "overlay"),
        ("UPDATE {p}session SET context = context + 1", "session"),
        ("UPDATE {p}session SET messages = 0, overlays = 7, active_s = 0", "session"),
        ("UPDATE {p}session SET running = running + 1", "session"),
    ],
)
def test_damage_to_what_is_derived_is_found_and_repaired(
    store: SqlAlchemyStore, damage: str, kind: str
) -> None:
    furnish(store)
    before = [store.read(ADA, session, Read()) for session in ("s", "fork")]
    records = [store.find_session(ADA, session) for session in ("s", "fork")]
    prefix = store._runner._worker._tables.session.name.removesuffix("session")
    empty = "x''" if engine_of(store).dialect.name == "sqlite" else "''"
    with engine_of(store).begin() as conn:
        conn.execute(text(damage.replace("{p}", prefix).replace("''", empty)))
    assert kind in {problem.kind for problem in store.admin.check()}
    assert store.admin.repair() == []
    assert [store.read(ADA, session, Read()) for session in ("s", "fork")] == before
    assert [store.find_session(ADA, session) for session in ("s", "fork")] == records


def test_rule_08_a_body_that_cannot_be_decoded_is_told_and_not_repaired(
    store: SqlAlchemyStore,
) -> None:
    furnish(store)
    m = store._runner._worker._tables.message
    with engine_of(store).begin() as conn:
        conn.execute(m.update().where(m.c.id == "m4").values(body=b"x"))
    with pytest.raises(StoreCorruptError, match="m4"):
        store.read(ADA, "s", Read())
    assert [(it.kind, it.where) for it in store.admin.repair()] == [("message", "m4")]


def test_a_deleted_tree_leaves_no_rows(store: SqlAlchemyStore) -> None:
    furnish(store)
    store.erase_owner(ADA)
    store.settle()
    with engine_of(store).connect() as conn:
        for table in store._runner._worker._tables.all:
            left = conn.execute(table.select()).all()
            assert table.name.endswith(("migration", "counter")) or not left, table.name


def test_the_clock_is_the_servers_where_none_is_given(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    words = NewMessage(role="user", parts=[TextPart(text="x")])
    first, second = (store.append(ADA, "s", [words]).messages[0] for _ in range(2))
    assert 0 < second.created_us - first.created_us < 60_000_000
    document = store.put_document(ADA, "k", b"", expires_in_s=0.01)
    assert document.expires_us == document.updated_us + 10_000
    time.sleep(0.02)
    assert store.find_document(ADA, "k") is None


def test_rule_09_of_many_that_take_an_owners_lease_one_succeeds(store: SqlAlchemyStore) -> None:
    def add(_: int) -> int:
        done = 0
        while done < 5:
            found = store.find_document(ADA, "k")
            value = b"%d" % (int(found.value) + 1 if found else 1)
            version = found.version if found else 0
            with contextlib.suppress(StaleVersionError):
                store.put_document(ADA, "k", value, expected_version=version)
                done += 1
        return done

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(add, range(4))) == 20
    found = store.find_document(ADA, "k")
    assert found is not None
    assert found.value == b"20"
