"""Rule 1: what was acknowledged is there after a server or a client was killed."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pymongo import MongoClient
from servers.mongodb import FerretServer

from sapwood.errors import StoreError, StoreUnavailableError
from sapwood.stores.mongodb import MongoStore
from sapwood.testing import COUNTS

from .support import ADA, ids_in, make_session, open_async_store, open_store, say

WRITER = Path(__file__).with_name("writer.py")
WRITERS = 3
ROUNDS = 2


class Writers:
    """Threads that append, each to its own session, and note what they were told."""

    def __init__(self, store: MongoStore) -> None:
        self._store = store
        self._stop = threading.Event()
        self.told: list[list[str]] = [[] for _ in range(WRITERS)]
        self.failed: list[StoreError] = []
        self._threads = [threading.Thread(target=self._write, args=(w,)) for w in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, writer: int) -> None:
        told = self.told[writer]
        while not self._stop.is_set():
            id = f"w{writer}-{len(told)}"
            try:
                self._store.append(ADA, f"s{writer}", [say(id)])
            except StoreError as error:
                # The same id again: it is written once, whatever became of it.
                self.failed.append(error)
                time.sleep(0.05)
            else:
                told.append(id)

    def wait_for_more(self, count: int = 20) -> None:
        seen = sum(map(len, self.told))
        while sum(map(len, self.told)) < seen + count:
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_kills_in_the_middle_of_writes(
    server: FerretServer, database: str
) -> None:
    with open_store(server.url(), database, patience_s=5) as store:
        for writer in range(WRITERS):
            make_session(store, f"s{writer}")
        writers = Writers(store)
        for _ in range(ROUNDS):
            writers.wait_for_more()
            server.kill()
            server.start()
            COUNTS["MongoDB: server killed in the middle of writes"] += 1
        writers.wait_for_more()
        writers.stop()
        for writer, told in enumerate(writers.told):
            assert ids_in(store, f"s{writer}") == told
        assert store.admin.check() == []
    assert all(error.retryable for error in writers.failed)


def test_a_server_that_is_gone_is_told_and_one_that_came_back_is_used(
    server: FerretServer, database: str
) -> None:
    with open_store(server.url(), database, patience_s=0.5) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        server.stop()
        try:
            with pytest.raises(StoreUnavailableError) as caught:
                store.append(ADA, "s", [say("m2")])
            assert caught.value.retryable
            with pytest.raises(StoreUnavailableError):
                ids_in(store)
        finally:
            server.start()
        COUNTS["MongoDB: server gone and back"] += 1
        assert ids_in(store) == ["m1"]
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


async def test_the_async_twin_goes_on_after_a_restart(server: FerretServer, database: str) -> None:
    with open_store(server.url(), database) as other:
        make_session(other)
    async with open_async_store(server.url(), database) as store:
        await store.append(ADA, "s", [say("m1")])
        server.kill()
        server.start()
        COUNTS["MongoDB: server killed in the middle of writes"] += 1
        done = await store.append(ADA, "s", [say("m2")])
        assert (done.written, done.messages[0].depth) == (1, 2)


@pytest.mark.fault
def test_a_client_killed_between_commit_and_apply_leaves_nothing_undone(
    server: FerretServer, database: str
) -> None:
    command = [sys.executable, str(WRITER), server.url(), database, "s", "200", "die"]
    died = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert died.returncode == -9
    COUNTS["MongoDB: client killed between commit and apply"] += 1
    told = died.stdout.split()
    assert told
    with open_store(server.url(), database) as store:
        found = ids_in(store)
        assert found[: len(told)] == told
        for id in (told[0], told[-1]):
            # A retry by the same id finds what the dead one wrote, look-ups or not.
            assert store.append(ADA, "s", [say(id, id.removeprefix("die-"))]).written == 0
        store.append(ADA, "s", [say("after")])
        store.settle()
        assert ids_in(store) == [*found, "after"]
        assert store.admin.check() == []


STARTING = 4
EACH = 3


@pytest.mark.fault
def test_several_processes_that_start_at_once_set_up_one_store(
    server: FerretServer, database: str
) -> None:
    begun = [
        subprocess.Popen(
            [sys.executable, str(WRITER), server.url(), database, "s", str(EACH), f"p{n}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(STARTING)
    ]
    for process in begun:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
    COUNTS["MongoDB: processes that start at once"] += STARTING
    with open_store(server.url(), database) as store, MongoClient(server.url()) as raw:
        assert sorted(ids_in(store)) == [f"p{n}-{k}" for n in range(STARTING) for k in range(EACH)]
        assert store.admin.check() == []
        assert list(raw[database]["sapwood_schema"].find({})) == [{"_id": 1}]
        names = {it["name"] for it in raw[database]["sapwood_records"].list_indexes()}
        assert names == {"_id_", "segment"}
