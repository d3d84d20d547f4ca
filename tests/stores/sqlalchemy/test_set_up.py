"""Set-up: the schema is made when it may be, and a newer one is left alone."""

from __future__ import annotations

from typing import Any

import pytest
from servers.names import own
from sqlalchemy import Engine, create_engine, inspect, text

from sapwood.errors import (
    MigrationNeededError,
    SchemaError,
    SchemaTooNewError,
    SessionClosedError,
)
from sapwood.model import DocumentPut, NewSession, Read, SessionPatch, SessionQuery
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.stores.sqlalchemy.column_types import MYSQL
from sapwood.stores.sqlalchemy.schema import LATER, LATER_TABLES, Migrator, steps_of
from sapwood.stores.sqlalchemy.tables import Tables
from sapwood.testing.makers import ADA, fork_of, say, shown

from .support import engine_of, furnish, names_in, new_id

# Of the fourth step, and those in whose place they are.
ADDED_INDEXES = {
    "profile": ("by_key", "by_title"),
    "session": ("by_active", "by_updated", "by_created", "by_state", "of_all"),
}
EARLIER_INDEXES = {"by_activity": "owner, active_s, number", "by_age": "owner, number"}


def go_back_to_the_second(engine: Engine, prefix: str) -> None:
    """Let tables be as the second step left them."""
    go_back_to_the_third(engine, prefix)
    take_back(engine, prefix, 3)


def go_back_to_the_third(engine: Engine, prefix: str) -> None:
    """Let tables be as the third step left them."""
    take_back(engine, prefix, 4)
    with engine.begin() as conn:
        if engine.dialect.name in MYSQL:
            change = "MODIFY `key` VARBINARY(256) NOT NULL"
            conn.execute(text(f"ALTER TABLE {prefix}document {change}"))


def take_back(engine: Engine, prefix: str, version: int) -> None:
    """Take away what a step added, with the index that is on it."""
    with engine.begin() as conn:
        if version == 4:
            for table, indexes in ADDED_INDEXES.items():
                on = f" ON {prefix}{table}" if engine.dialect.name in MYSQL else ""
                for index in indexes:
                    conn.execute(text(f"DROP INDEX {prefix}{table}_{index}{on}"))
            for index, columns in EARLIER_INDEXES.items():
                name = f"{prefix}session_{index}"
                conn.execute(text(f"CREATE INDEX {name} ON {prefix}session ({columns})"))
        for table, columns in LATER[version].items():
            for column in columns:
                conn.execute(text(f"ALTER TABLE {prefix}{table} DROP COLUMN {column}"))
        for table in LATER_TABLES.get(version, ()):
            conn.execute(text(f"DROP TABLE {prefix}{table}"))
        conn.execute(text(f"DELETE FROM {prefix}migration WHERE version = {version}"))


def test_without_auto_migrate_nothing_is_made_until_it_is_asked_for(file: Engine) -> None:
    with SqlAlchemyStore(file, new_id=new_id, auto_migrate=False) as store:
        with pytest.raises(MigrationNeededError):
            store.find_session(ADA, "s")
        assert names_in(file, "") == set()
        assert store.admin.migrate() == 4
        furnish(store)
        assert store.admin.schema_version() == 4


def test_a_newer_schema_is_refused_and_not_touched(store: SqlAlchemyStore) -> None:
    migration = store._runner.here()._worker._tables.migration
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


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_the_first_schemas_records_are_there(store: SqlAlchemyStore, kept: int) -> None:
    """Also when the step was broken off before, as on a server that commits each statement."""
    engine, prefix = engine_of(store), own("old_")
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as made:
        made.create_session(ADA, NewSession(id="s", title="t", attributes={"k": 1}, model="large"))
    changes = [f"DROP COLUMN {it}" for it in ("end_reason", "source", "model")]
    changes.append("RENAME COLUMN attributes TO data")
    go_back_to_the_second(engine, prefix)
    with engine.begin() as conn:
        for change in changes[: 4 - kept]:
            conn.execute(text(f"ALTER TABLE {prefix}profile {change}"))
        conn.execute(text(f"DELETE FROM {prefix}migration WHERE version = 2"))
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as again:
        record = again.find_session(ADA, "s")
        assert record is not None
        was = "large" if kept > 1 else None
        assert (record.title, record.attributes, record.model) == ("t", {"k": 1}, was)
        patch = SessionPatch(model="small", source="cli", end_reason="timeout")
        record = again.update_session(ADA, "s", patch).record
        assert (record.model, record.source, record.end_reason) == ("small", "cli", "timeout")
        assert again.admin.schema_version() == 4
    Tables(engine.dialect.name, prefix=prefix).metadata.drop_all(engine)


def test_a_column_of_the_users_own_is_not_taken_over(file: Engine) -> None:
    with SqlAlchemyStore(file, new_id=new_id) as made:
        made.create_session(ADA, NewSession(id="s", attributes={"k": 1}))
    table = "sapwood_profile"
    go_back_to_the_second(file, "sapwood_")
    with file.begin() as conn:
        conn.execute(text(f"ALTER TABLE {table} RENAME COLUMN attributes TO data"))
        for name in ("model", "source", "end_reason"):
            conn.execute(text(f"ALTER TABLE {table} DROP COLUMN {name}"))
        conn.execute(text(f"ALTER TABLE {table} ADD COLUMN Source TEXT DEFAULT 'crm'"))
        conn.execute(text("DELETE FROM sapwood_migration WHERE version = 2"))
    with (
        SqlAlchemyStore(file, new_id=new_id) as again,
        pytest.raises(SchemaError, match="'source'"),
    ):
        again.find_session(ADA, "s")
    names = {it["name"] for it in inspect(file).get_columns(table)}
    assert names & {"data", "Source", "attributes", "model"} == {"data", "Source"}
    mapped = {"profile": {"source": "origin"}}
    with SqlAlchemyStore(file, new_id=new_id, columns=mapped) as again:
        record = again.update_session(ADA, "s", SessionPatch(source="cli")).record
        assert (record.attributes, record.source) == ({"k": 1}, "cli")


NOT_INHERITED = DocumentPut(key="own", value=b"", inherit=False)


class BrokenOffError(Exception):
    """A process ended."""


@pytest.mark.parametrize("broken_at", [None, "_add", "_record"])
def test_the_second_schemas_sessions_go_on(
    store: SqlAlchemyStore, broken_at: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the step was broken off before, as on a server that commits each statement."""
    engine, prefix = engine_of(store), own("older_")
    tables = Tables(engine.dialect.name, prefix=prefix)
    tables.metadata.drop_all(engine)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as made:
        furnish(made)
        made.put_document(ADA, "k", b"v", session="s")
    go_back_to_the_second(engine, prefix)
    if broken_at is not None:
        break_off(engine, prefix, broken_at, monkeypatch)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as again:
        assert shown(again.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
        again.append(ADA, "s", [say("m5")], documents=[NOT_INHERITED])
        again.create_session(ADA, fork_of("s", id="later"))
        assert [it.key for it in again.list_documents(ADA, session="later")] == ["k"]
        again.update_session(ADA, "s", SessionPatch(closed=True))
        with pytest.raises(SessionClosedError):
            again.append(ADA, "s", [say("m6")])
        assert again.append(ADA, "fork", [say("f2")]).written == 1
        assert again.admin.check() == []
    with engine.connect() as conn:
        asked = text(f"SELECT version FROM {prefix}migration ORDER BY version")
        assert conn.execute(asked).scalars().all() == [1, 2, 3, 4]
    tables.metadata.drop_all(engine)


@pytest.mark.parametrize("broken_at", [None, "_record"])
def test_the_third_schemas_documents_are_kept_and_take_longer_keys(
    store: SqlAlchemyStore, broken_at: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, prefix = engine_of(store), own("third_")
    tables = Tables(engine.dialect.name, prefix=prefix)
    tables.metadata.drop_all(engine)
    long, longer = "é" * 128, "é" * 512
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as made:
        fields = {"title": "é title", "tags": ["x", "y"], "state": "new"}
        made.create_session(ADA, NewSession(id="s", **fields))
        kept = [made.put_document(ADA, key, b"v", session="s") for key in ("k", long)]
    go_back_to_the_third(engine, prefix)
    if broken_at is not None:
        break_off(engine, prefix, broken_at, monkeypatch)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as again:
        assert again.list_documents(ADA, session="s") == kept
        assert [it.created_us == it.updated_us for it in kept] == [True, True]
        record = again.find_session(ADA, "s")
        assert record is not None
        assert (record.kind, record.updated_us, record.data_at) == ("chat", record.active_us, None)
        for query in ({"title_prefix": "é"}, {"tags": ["x", "y"]}, {"state": "new"}):
            for order in ("active", "created", "updated"):
                page = again.list_sessions(ADA, SessionQuery(order=order, **query))
                assert page.sessions == [record]
        [listed] = again.admin.list_sessions(SessionQuery(state="new")).sessions
        assert (listed.owner, listed.session) == (ADA, record)
        indexes = {it["name"] for it in inspect(engine).get_indexes(f"{prefix}session")}
        assert not indexes & {f"{prefix}session_{it}" for it in EARLIER_INDEXES}
        replaced = again.put_document(ADA, long, b"w", session="s")
        assert replaced.created_us == kept[1].updated_us < replaced.updated_us
        new = again.put_document(ADA, longer, b"x", session="s")
        assert again.list_documents(ADA, "é", session="s") == [replaced, new]
    tables.metadata.drop_all(engine)


def break_off(engine: Engine, prefix: str, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the migration fail: on its way, with one of two columns added, or before it is kept."""
    go_on, added = Migrator._add, []

    def fail(migrator: Migrator, column: Any) -> None:
        if at == "_record" or added:
            raise BrokenOffError
        added.append(column)
        go_on(migrator, column)

    with (
        monkeypatch.context() as patch,
        SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as broken,
    ):
        patch.setattr(Migrator, at, fail)
        with pytest.raises(BrokenOffError):
            broken.find_session(ADA, "s")


@pytest.mark.parametrize(("table", "column"), [("session", "closed"), ("document", "inherit")])
def test_a_flag_of_the_users_own_is_not_taken_over(
    store: SqlAlchemyStore, table: str, column: str
) -> None:
    engine, prefix = engine_of(store), own("theirs_")
    mapped = {table: {column: f"is_{column}"}}
    tables = Tables(engine.dialect.name, prefix=prefix, columns=mapped)
    tables.metadata.drop_all(engine)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as made:
        made.create_session(ADA, NewSession(id="s"))
        made.put_document(ADA, "k", b"", session="s")
    go_back_to_the_second(engine, prefix)
    with engine.begin() as conn:
        conn.execute(text(f"ALTER TABLE {prefix}{table} ADD COLUMN {column} INTEGER DEFAULT 7"))
    before = columns_of(engine, prefix)
    for _ in range(2):
        with (
            SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as again,
            pytest.raises(SchemaError, match=f"'{column}'"),
        ):
            again.find_session(ADA, "s")
    assert columns_of(engine, prefix) == before
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix, columns=mapped) as again:
        assert again.update_session(ADA, "s", SessionPatch(closed=True)).record.closed
        again.create_session(ADA, fork_of("s"))
        assert [it.key for it in again.list_documents(ADA, session="fork")] == ["k"]
    with engine.connect() as conn:
        found = conn.execute(text(f"SELECT {column} FROM {prefix}{table}")).scalars().all()
    assert set(found) == {7}
    tables.metadata.drop_all(engine)


def columns_of(engine: Engine, prefix: str) -> list[str]:
    looked = inspect(engine)
    tables = (f"{prefix}session", f"{prefix}document")
    return [it["name"] for table in tables for it in looked.get_columns(table)]


def test_the_steps_are_those_that_were_released() -> None:
    """A table was made by the text of its time: what a step makes is never changed."""
    for kind in ("mysql", "postgresql", "sqlite"):
        made = [(step.version, step.checksum[:8]) for step in steps_of(Tables(kind))]
        assert made == [(1, "66bd40be"), (2, "fb273d32"), (3, "a94ac5de"), (4, "873ca6d3")]


def test_a_migration_that_was_broken_off_is_finished(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url.replace("mariadb://", "mariadb+pymysql://"))
    prefix = own("broken_")
    tables = Tables("mariadb", prefix=prefix)
    tables.metadata.drop_all(engine)
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as store:
        furnish(store)
    with engine.begin() as conn:
        for text_of in (
            f"DROP TABLE {prefix}sweep",
            f"DROP INDEX {prefix}message_by_time ON {prefix}message",
            f"DELETE FROM {prefix}migration",
        ):
            conn.execute(text(text_of))
    with SqlAlchemyStore(engine, new_id=new_id, prefix=prefix) as store:
        assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
    indexes = {it["name"] for it in inspect(engine).get_indexes(f"{prefix}message")}
    assert f"{prefix}message_by_time" in indexes
    tables.metadata.drop_all(engine)
    engine.dispose()
