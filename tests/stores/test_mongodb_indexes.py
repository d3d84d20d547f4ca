"""The indexes that the MongoDB store makes: a real server asks them, FerretDB only keeps them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from servers import mongodb

from sapwood.rules.ids import IdMaker
from sapwood.stores.mongodb import AsyncMongoStore, MongoStore
from sapwood.testing.machine.driver import Driver

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)
PREFIX = "sapwood_test_indexes_"


@pytest.fixture(params=[MongoStore, AsyncMongoStore], ids=["sync", "async"])
def driver(mongodb_url: str, request: pytest.FixtureRequest) -> Iterator[Driver]:
    """Give a store whose collections were never there."""
    database = mongodb.client()[mongodb.database()]

    def drop() -> None:
        for name in ("records", "entries", "lookups", "schema"):
            database.drop_collection(f"{PREFIX}{name}")

    class Place:
        def open(self) -> Any:
            open_store: Callable[..., Any] = request.param
            options = {"database": mongodb.database(), "prefix": PREFIX, "new_id": new_id}
            return open_store(mongodb_url, **options)

        def discard(self) -> None:
            drop()

    drop()
    with ExitStack() as stack:
        driver = Driver(Place())
        stack.callback(driver.end)
        yield driver


def indexes_of(name: str) -> dict[str, dict[str, int]]:
    """Give the keys of a collection's indexes, by the indexes' names."""
    found = mongodb.client()[mongodb.database()][f"{PREFIX}{name}"].list_indexes()
    return {it["name"]: dict(it["key"]) for it in found if it["name"] != "_id_"}


def test_records_are_indexed_by_place_and_entries_by_owner(driver: Driver) -> None:
    assert driver._finish(driver.store.admin.migrate()) == 1
    assert indexes_of("records") == {"segment": {"tree": 1, "segment": 1, "last": 1}}
    assert indexes_of("entries") == {"owner": {"owner": 1}}
