"""The SQLAlchemy store on each database that it is verified on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.sql import Database, MariaDb, Postgres, Sqlite
from sqlalchemy import Engine, create_engine

from sapwood.stores.sqlalchemy import SqlAlchemyStore

from .support import new_id


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


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path}/own.db")
    yield engine
    engine.dispose()
