"""Several clients with one session, of which half leave undone what comes after their commits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from servers.mongodb import FerretServer

from sapwood.errors import StaleTipError
from sapwood.stores.mongodb import MongoStore
from sapwood.stores.recordlog import record
from sapwood.stores.recordlog._sync.leftovers import finish_leftovers
from sapwood.testing import COUNTS

from ..sharing import write_together
from ..tried import tried
from .support import ADA, ids_in, make_session, open_store, say

WRITERS = 8
BATCHES = 5


@pytest.fixture
def stores(server: FerretServer, database: str) -> Iterator[list[MongoStore]]:
    """As many clients as writers, the first of which made the session."""
    with ExitStack() as stack:
        stores = [stack.enter_context(open_store(server.url(), database)) for _ in range(WRITERS)]
        make_session(stores[0])
        yield stores


@pytest.mark.fault
def test_rule_02_batches_sent_twice_by_racing_writers_land_once_and_whole(
    stores: list[MongoStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    applied: list[bool] = []

    def every_second(*args: Any) -> None:
        applied.append(len(applied) % 2 == 0)
        if applied[-1]:
            finish_leftovers(*args)

    monkeypatch.setattr(record, "PAGE", 10_000)  # so that none says that it was done

    def write(index: int, store: MongoStore) -> int:
        written = 0
        for n in range(BATCHES):
            # Two of the writers send each batch.
            batch = [say(f"w{index // 2}-{n}-{k}") for k in range(3)]
            written += store.append(ADA, "s", batch).written
            state = store._runner.here().logs.cache.find_session(ADA, "s")
            every_second(store._runner.here().logs, state)
            COUNTS["MongoDB: batches sent twice by racing writers"] += 1
        return written

    with ThreadPoolExecutor(WRITERS) as pool:
        written = list(pool.map(write, range(WRITERS), stores))
    expected = [f"w{w}-{n}-{k}" for w in range(WRITERS // 2) for n in range(BATCHES) for k in "012"]
    found = ids_in(stores[0])
    assert sum(written) == len(expected)
    assert sorted(found) == sorted(expected)
    for start in range(0, len(found), 3):
        batch = found[start].rpartition("-")[0]
        assert found[start : start + 3] == [f"{batch}-{k}" for k in range(3)]
    assert False in applied
    stores[0].finish_deletions()
    assert stores[0].admin.check() == []


@pytest.mark.fault
def test_rule_06_of_calls_with_one_expected_tip_from_several_clients_one_succeeds(
    stores: list[MongoStore],
) -> None:
    stores[0].append(ADA, "s", [say("m0")])

    def write(index: int, store: MongoStore) -> bool:
        COUNTS["MongoDB: calls with one expected tip"] += 1
        try:
            store.append(ADA, "s", [say(f"w{index}")], expected_tip="m0")
        except StaleTipError:
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as pool:
        written = list(pool.map(write, range(WRITERS), stores))
    assert written.count(True) == 1
    assert ids_in(stores[0]) == ["m0", f"w{written.index(True)}"]


def test_rule_06_two_clients_with_one_session(server: FerretServer, database: str) -> None:
    with open_store(server.url(), database) as one, open_store(server.url(), database) as two:
        write_together(one, two)
    tried("MongoDB", "two clients with one session")


def test_a_client_whose_session_was_deleted_by_another_is_told(
    server: FerretServer, database: str
) -> None:
    with open_store(server.url(), database) as one, open_store(server.url(), database) as other:
        make_session(one)
        one.append(ADA, "s", [say("m1")])
        other.delete_session(ADA, "s")
        make_session(other)
        done = one.append(ADA, "s", [say("m2")])
        assert (done.messages[0].depth, ids_in(other)) == (1, ["m2"])
        COUNTS["MongoDB: session deleted by another client"] += 1
