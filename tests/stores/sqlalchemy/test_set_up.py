"""Set-up: the schema is made when it may be, and a newer one is left alone."""

from __future__ import annotations

import pytest
from servers.names import own
from sqlalchemy import Engine, create_engine, inspect, text

from sapwood.errors import (
    MigrationNeededError,
    SchemaError,
    SchemaTooNewError,
)
from sapwood.model import NewSession, Read, SessionPatch
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.stores.sqlalchemy.tables import Tables
from sapwood.testing.makers import ADA, shown

from .support import engine_of, furnish, names_in, new_id


def test_without_auto_migrate_nothing_is_made_until_it_is_asked_for(file: Engine) -> None:
    with SqlAlchemyStore(file, new_id=new_id, auto_migrate=False) as store:
        with pytest.raises(MigrationNeededError):
            store.find_session(ADA, "s")
        assert names_in(file, "") == set()
        assert store.admin.migrate() == 2
        furnish(store)
        assert store.admin.schema_version() == 2


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
        record = again.update_session(ADA, "s", patch)
        assert (record.model, record.source, record.end_reason) == ("small", "cli", "timeout")
        assert again.admin.schema_version() == 2
    Tables(engine.dialect.name, prefix=prefix).metadata.drop_all(engine)


def test_a_column_of_the_users_own_is_not_taken_over(file: Engine) -> None:
    with SqlAlchemyStore(file, new_id=new_id) as made:
        made.create_session(ADA, NewSession(id="s", attributes={"k": 1}))
    table = "sapwood_profile"
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
