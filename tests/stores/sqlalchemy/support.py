"""What the tests of the SQLAlchemy store do again and again."""

from __future__ import annotations

import os
import time
from typing import Any

from servers.sql import Database
from sqlalchemy import Engine, inspect

from sapwood.model import NewSession
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.testing.makers import ADA, cover, fork_of, say

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


def engine_of(store: SqlAlchemyStore) -> Engine:
    return store._runner.here()._engine


def names_in(engine: Engine, prefix: str) -> set[str]:
    return {name for name in inspect(engine).get_table_names() if name.startswith(prefix)}


def url_of(database: Database) -> Any:
    """Give the URL of a database as SQLAlchemy takes it."""
    with SqlAlchemyStore.from_url(database.url(), new_id=new_id) as made:
        return engine_of(made).url


def furnish(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    for id in ("m1", "m2", "m3", "m4"):
        store.append(ADA, "s", [say(id, tokens=2)])
    store.append(ADA, "s", [say("x1"), say("x2")], parent="m2")
    store.create_session(ADA, fork_of("s", "m3"))
    store.update_message(ADA, "s", say("m1", "changed", tokens=50))
    store.append(ADA, "fork", [say("f1")])
    store.checkout(ADA, "s", "m4")
    store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
    store.finish_deletions()
