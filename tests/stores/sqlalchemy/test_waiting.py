"""How writers and readers wait for each other, and what is left when one stops."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

import pymysql
import pytest
from servers import mariadb
from servers.sql import Database, MariaDb
from servers.url import with_parameters
from sqlalchemy import create_engine, event, select
from sqlalchemy.engine import make_url

from sapwood.errors import (
    NotFoundError,
    SessionClosedError,
    StoreBusyError,
    StoreError,
)
from sapwood.model import Appended, Changes, NewSession, Read, SessionPatch, UpdatedSession
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, SqlAlchemyStore
from sapwood.stores.sqlalchemy.tx import Statements, Tx
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, ids_told, say, shown

from .support import engine_of, furnish, new_id

TITLED = SessionPatch(title="t")


@contextlib.contextmanager
def owner_held(store: SqlAlchemyStore) -> Iterator[None]:
    """Hold the lock of an owner alone, as a reader of the change feed does."""
    tables = store._runner.here()._worker._tables
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
        store.finish_deletions()
        if not isinstance(named[0].exception(), NotFoundError):
            # It was told that what follows is kept for it.
            assert len(named[0].result().changes) == 1
            assert len(other.changes(ADA, after=cursor, reader="r").changes) == 1


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_a_page_of_the_feed_ends_before_a_record_whose_change_is_not_committed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    committing, may_commit = Event(), Event()
    with (
        SqlAlchemyStore.from_url(database.url(), new_id=new_id) as reader,
        SqlAlchemyStore.from_url(database.url(), new_id=new_id) as slow,
        SqlAlchemyStore.from_url(database.url(), new_id=new_id) as quick,
        ThreadPoolExecutor(1) as thread,
    ):
        for id in ("slow", "quick"):
            slow.create_session(ADA, NewSession(id=id))
        cursor = reader.feed_cursor(ADA)
        runner = reader._runner.here()
        look = runner._look

        def commit(_: Any) -> None:
            committing.set()
            may_commit.wait(10)

        def look_later(*args: Any) -> Any:
            # The writers come after the reader has waited for those before it.
            if not committing.is_set():
                event.listen(engine_of(slow), "commit", commit)
                writes.append(thread.submit(slow.update_session, ADA, "slow", TITLED))
                committing.wait(10)
                quick.update_session(ADA, "quick", TITLED)
            return look(*args)

        writes: list[Future[UpdatedSession]] = []
        monkeypatch.setattr(runner, "_look", look_later)
        page = reader.changes(ADA, after=cursor)
        may_commit.set()
        writes[0].result(10)
        rest = reader.changes(ADA, after=page.cursor).changes
        assert {it.session for it in (*page.changes, *rest)} == {"slow", "quick"}


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
        store.finish_deletions()
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


async def test_a_closed_session_refuses_what_goes_together_with_that_of_others(
    database: Database,
) -> None:
    import asyncio

    async with AsyncSqlAlchemyStore.from_url(database.url(), new_id=new_id) as store:
        for n in range(12):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say("m0")])
        for n in (5, 11):
            await store.update_session(ADA, f"s{n}", SessionPatch(closed=True))
        calls = [store.append(ADA, f"s{n}", [say("m1")]) for n in range(12)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [n for n, it in enumerate(done) if isinstance(it, SessionClosedError)] == [5, 11]
        assert sum(it.written for it in done if isinstance(it, Appended)) == 10
        for n in range(12):
            wanted = ["m0"] if n in (5, 11) else ["m0", "m1"]
            assert shown(await store.read(ADA, f"s{n}", Read())) == wanted
        assert await store.admin.check() == []


def test_a_fork_that_wrote_nothing_shows_whose_messages_they_are(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1", tokens=3), say("m2", tokens=4), say("m3", tokens=5)])
    store.create_session(ADA, fork_of("s", "m2"))
    history = store.read(ADA, "fork", Read())
    assert [(it.id, it.home) for it in history.messages_only] == [("m1", "s"), ("m2", "s")]
    store.append(ADA, "fork", [say("f1", tokens=6)])
    found = store.read(ADA, "fork", Read()).messages_only
    assert [(it.id, it.home) for it in found] == [("m1", "s"), ("m2", "s"), ("f1", "fork")]


def test_what_a_fork_shows_is_counted_right_before_sums_are_renewed(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1", tokens=3), say("m2", tokens=4)])
    store.create_session(ADA, fork_of("s", "m2"))
    store.append(ADA, "fork", [say("f1", tokens=5), say("f2", tokens=1)])
    sums = store._runner.here()._worker._tables.session.c.context
    store.update_message(ADA, "s", say("m1", "longer", tokens=50))
    with engine_of(store).connect() as conn:
        assert set(conn.execute(select(sums)).scalars()) == {54, None}
    whole = Read(backwards=True, limit=1)
    assert store.read(ADA, "fork", whole).context_tokens == 60
    store.finish_deletions()
    assert store.read(ADA, "fork", whole).context_tokens == 60


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_a_connection_comes_back_without_what_was_left_open_on_it(store: SqlAlchemyStore) -> None:
    table = store._runner.here()._worker._tables.home.name
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
        sessions = store._runner.here()._worker._tables.session
        held = sessions.select().where(sessions.c.id == "s4").with_for_update()
        async with store._runner.here()._engine.connect() as conn:
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
    named = with_parameters(mariadb_url, prefix=prefix)
    with SqlAlchemyStore.from_url(named, new_id=new_id) as other:
        other.admin.migrate()
    mariadb.empty(prefix)
    url = named.replace("mariadb:", f"sqlalchemy+mariadb+{driver}:")
    url = with_parameters(url, init_command="SET sql_mode='NO_BACKSLASH_ESCAPES'")
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
        assert [it.text for it in (await store.read(ADA, "s", Read())).messages_only] == said * 2


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
        engine = store._runner.here()._engine
        conns = [await engine.connect() for _ in range(3)]
        for conn in conns:
            assert (await conn.exec_driver_sql("SELECT 1")).scalar() == 1
        for conn in conns:
            await conn.close()
        assert await store.admin.check() == []


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
            assert ids_told(store.changes(ADA, reader="r")) == ["m1"]
    engine.dispose()
