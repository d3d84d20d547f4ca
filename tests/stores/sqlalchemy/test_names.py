"""Names, tables and columns of the user's."""

from __future__ import annotations

from typing import Any

import pytest
from servers.names import own
from servers.sql import Database
from sqlalchemy import Column, Engine, String, create_engine, inspect, text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.ext.asyncio import create_async_engine

from sapwood.errors import (
    SchemaError,
    StoreError,
    UsageError,
)
from sapwood.model import NewSession, Read, Search
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, NewRow, SqlAlchemyStore
from sapwood.stores.sqlalchemy.tables import Tables
from sapwood.testing.makers import ADA, fork_of, say, shown

from .support import engine_of, furnish, names_in, new_id, url_of

LINES, CHATS = own("chat_lines"), own("chats")
RENAMED: dict[str, Any] = {
    "tables": {"message": LINES, "session": CHATS},
    "columns": {"message": {"body": "content", "id": "line_id"}, "session": {"id": "chat_id"}},
}


def test_tables_and_columns_have_the_names_that_are_asked_for(database: Database) -> None:
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as made:
        engine = create_engine(engine_of(made).url)
    prefix = own("rn_")
    tables = Tables(engine.dialect.name, prefix=prefix, **RENAMED)
    tables.metadata.drop_all(engine)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix, **RENAMED) as store:
        furnish(store)
        assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
        assert shown(store.read(ADA, "fork", Read())) == ["m1", "m2", "m3", "f1"]
        assert [it.entry.id for it in store.search(ADA, Search(text="f1")).hits] == ["f1"]
        store.delete_session(ADA, "s")
        store.finish_deletions()
        assert store.admin.check() == []
    names = {*tables.metadata.tables}
    assert {LINES, CHATS} == {it for it in names if not it.startswith(prefix)}
    # And nothing that would stay behind when these are dropped.
    assert names_in(engine, prefix) <= names
    assert {LINES, CHATS} <= names_in(engine, own("chat"))
    assert {"content", "line_id"} <= {it["name"] for it in inspect(engine).get_columns(LINES)}
    tables.metadata.drop_all(engine)
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
    tables = Tables(engine.dialect.name, prefix=own("my_"), **options)
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
    options: dict[str, Any] = {"own_tables": True, "extra": tenant, **RENAMED}
    options["prefix"] = own("my_")
    with SqlAlchemyStore(engine, new_id=new_id, **options) as store:
        furnish(store)
        store.create_session(ADA, fork_of("s", "m2", id="copy", detach=True))
        assert shown(store.read(ADA, "copy", Read())) == ["m1", "m2"]
        assert store.admin.check() == []
        with pytest.raises(StoreError, match="brought along"):
            store.admin.migrate()
    with engine.connect() as conn:
        lines = conn.execute(text(f"SELECT tenant FROM {LINES} ORDER BY 1")).scalars().all()
        chats = conn.execute(text(f"SELECT tenant FROM {CHATS} ORDER BY 1")).scalars().all()
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
    tables = Tables(kind, prefix=own("some_"))
    for name in ("tenant", "note"):
        tables.message.append_column(Column(name, String(20)))
    async with engine.begin() as conn:
        await conn.run_sync(tables.metadata.drop_all)
        await conn.run_sync(tables.metadata.create_all)
    options: dict[str, Any] = {"own_tables": True, "extra": of_some}
    options["prefix"] = own("some_")
    async with AsyncSqlAlchemyStore(engine, new_id=new_id, **options) as store:
        for n in range(9):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say(id) for id in ("a", "t1", "n1", "t2", "b")])
        # Those that come while others are sent go together.
        calls = [store.append(ADA, f"s{n}", [say(f"{'xtn'[n % 3]}9")]) for n in range(9)]
        assert [it.written for it in await asyncio.gather(*calls)] == [1] * 9
        assert await store.admin.check() == []
    async with engine.connect() as conn:
        asked = text(f"SELECT id, tenant, note FROM {tables.message.name}")
        rows = (await conn.execute(asked)).all()
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


@pytest.mark.parametrize(("column", "usual"), [("session.closed", 0), ("document.inherit", 1)])
def test_a_flag_that_old_rows_of_the_users_tables_lack_is_named(
    database: Database, column: str, usual: int
) -> None:
    engine, prefix = create_engine(url_of(database)), own("flag_")
    options: dict[str, Any] = {"prefix": prefix, "own_tables": True}
    tables = Tables(engine.dialect.name, prefix=prefix)
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    table, _, name = column.partition(".")
    wanted = f"NOT NULL DEFAULT {usual}"
    for given, error in (("", wanted), (wanted, None)):
        with engine.begin() as conn:
            conn.execute(text(f"ALTER TABLE {prefix}{table} DROP COLUMN {name}"))
            conn.execute(text(f"ALTER TABLE {prefix}{table} ADD COLUMN {name} INTEGER {given}"))
        with SqlAlchemyStore(engine, new_id=new_id, **options) as store:
            if error:
                with pytest.raises(SchemaError, match=f"{error} in {prefix}{column}"):
                    store.find_session(ADA, "s")
            else:
                furnish(store)
    tables.metadata.drop_all(engine)
    engine.dispose()


def test_rule_02_a_users_table_that_would_take_a_message_twice_is_refused(
    database: Database,
) -> None:
    engine = create_engine(url_of(database))
    prefix = own("twice_")
    tables = Tables(engine.dialect.name, prefix=prefix)
    keys: list[Any] = [*tables.message.constraints]
    keys = [it for it in keys if {"home", "id"} == {*it.columns.keys()}]
    tables.message.constraints -= {*keys}
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    options: dict[str, Any] = {"prefix": prefix, "own_tables": True}
    store = SqlAlchemyStore(engine, new_id=new_id, **options)
    with store, pytest.raises(SchemaError, match=rf"\(home, id\) of {prefix}message"):
        store.create_session(ADA, NewSession(id="s"))
    with engine.begin() as conn:
        conn.execute(text(f"CREATE UNIQUE INDEX {prefix}ids ON {prefix}message (home, id)"))
    with SqlAlchemyStore(engine, new_id=new_id, **options) as store:
        store.create_session(ADA, NewSession(id="s"))
        assert [store.append(ADA, "s", [say("m1")]).written for _ in range(3)] == [1, 0, 0]
    tables.metadata.drop_all(engine)
    engine.dispose()


def test_a_users_table_without_transactions_is_refused(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url.replace("mariadb://", "mariadb+pymysql://"))
    prefix = own("half_")
    tables = Tables("mariadb", prefix=prefix)
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    with engine.begin() as conn:
        conn.execute(text(f"ALTER TABLE {prefix}message ENGINE=MyISAM"))
    store = SqlAlchemyStore(engine, new_id=new_id, prefix=prefix, own_tables=True)
    with store, pytest.raises(SchemaError, match=f"transactions in {prefix}message"):
        store.find_session(ADA, "s")
    tables.metadata.drop_all(engine)
    engine.dispose()


def test_a_users_table_that_would_mix_up_ids_is_refused(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url.replace("mariadb://", "mariadb+pymysql://"))
    prefix = own("ci_")
    tables = Tables("mariadb", prefix=prefix)
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    with engine.begin() as conn:
        conn.execute(text(f"ALTER TABLE {prefix}message MODIFY id VARCHAR(200) NOT NULL"))
    store = SqlAlchemyStore(engine, new_id=new_id, prefix=prefix, own_tables=True)
    with store, pytest.raises(SchemaError, match=rf"{prefix}message\.id"):
        store.find_session(ADA, "s")
    tables.metadata.drop_all(engine)
    engine.dispose()


def test_a_users_table_that_has_no_room_for_a_documents_key_is_refused(
    database: Database,
) -> None:
    engine, prefix = create_engine(url_of(database)), own("short_")
    tables = Tables(engine.dialect.name, prefix=prefix)
    tables.metadata.drop_all(engine)
    kind, name = tables.kind, tables.document.c.key
    name.type = mysql.VARBINARY(256) if kind == "mysql" else String(256)
    tables.metadata.create_all(engine)
    store = SqlAlchemyStore(engine, new_id=new_id, prefix=prefix, own_tables=True)
    with store, pytest.raises(SchemaError, match=rf"1024 bytes in {prefix}document\.key"):
        store.find_session(ADA, "s")
    tables.metadata.drop_all(engine)
    engine.dispose()


# On MariaDB a column of names is compared byte by byte, or refused.
@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
def test_documents_of_a_users_table_are_in_order_whatever_its_collation(
    database: Database,
) -> None:
    engine, prefix = create_engine(url_of(database)), own("sorts_")
    tables = Tables(engine.dialect.name, prefix=prefix)
    tables.metadata.drop_all(engine)
    collation = {"sqlite": "NOCASE", "postgresql": "en_US.utf8"}[tables.kind]
    with engine.connect() as conn:
        found = text("SELECT 1 FROM pg_collation WHERE collname = 'en_US.utf8'")
        if tables.kind == "postgresql" and conn.execute(found).first() is None:
            collation = "und-x-icu"
    if tables.kind == "postgresql":
        tables.document.c.key.type = postgresql.TEXT(collation=collation)
    else:
        tables.document.c.key.type = String(collation=collation)
    tables.metadata.create_all(engine)
    keys = ["B", "a", "b/", "b/1", "b/2", "b0", "c", "é"]
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix, own_tables=True) as store:
        for key in keys:
            store.put_document(ADA, key, b"v")
        assert [it.key for it in store.list_documents(ADA)] == keys
        page = store.list_documents(ADA, "b/", after="b/", limit=1, values=False)
        assert [(it.key, it.value) for it in page] == [("b/1", b"")]
        back = store.list_documents(ADA, after="b0", reverse=True)
        assert [it.key for it in back] == ["b/2", "b/1", "b/", "a", "B"]
    tables.metadata.drop_all(engine)
    engine.dispose()


def too_much(row: NewRow) -> dict[str, Any]:
    return {"tree": 1} if row.table == "session" else {}


def test_rule_15_extra_may_not_fill_what_is_ours(file: Engine) -> None:
    store = SqlAlchemyStore(file, new_id=new_id, extra=too_much)
    with store, pytest.raises(UsageError, match="tree"):
        store.create_session(ADA, NewSession(id="s"))
