"""Rule 1: what was acknowledged is there after the server was killed and started again."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from servers.mariadb import MariaDbServer

from sapwood.errors import StoreError, StoreUnavailableError
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.testing import COUNTS

from .support import ADA, ids_in, make_session, open_async_store, open_store, say

WRITER = Path(__file__).with_name("writer.py")
WRITERS = 4
ROUNDS = 3


class Writers:
    """Threads that append, each to its own session, and note what they were told."""

    def __init__(self, store: SqlAlchemyStore) -> None:
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

    def wait_for_more(self, count: int = 40) -> None:
        seen = sum(map(len, self.told))
        while sum(map(len, self.told)) < seen + count:
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_kills_in_the_middle_of_writes(
    server: MariaDbServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        for writer in range(WRITERS):
            make_session(store, f"s{writer}")
        writers = Writers(store)
        for _ in range(ROUNDS):
            writers.wait_for_more()
            server.kill()
            server.start()
            COUNTS["MariaDB killed in the middle of writes"] += 1
        writers.wait_for_more()
        writers.stop()
        for writer, told in enumerate(writers.told):
            assert ids_in(store, f"s{writer}") == told
        assert store.admin.check() == []
    assert all(error.retryable for error in writers.failed)


@pytest.mark.fault
def test_rule_01_a_writers_process_that_is_killed_loses_nothing_it_told_of(
    server: MariaDbServer, prefix: str
) -> None:
    url = f"{server.url()}?prefix={prefix}"
    command = [sys.executable, str(WRITER), url, "100000", "0"]
    told: list[str] = []
    for _ in range(2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(30)]
        process.kill()
        process.communicate()
        COUNTS["a client of MariaDB killed in the middle of writes"] += 1
    with open_store(server.url(), prefix) as store:
        found = ids_in(store)
        assert found[:30] == told
        assert len(set(found)) == len(found)
        store.append(ADA, "s", [say(found[-1])])
        store.append(ADA, "s", [say("after")])
        assert ids_in(store) == [*found, "after"]
        assert store.admin.check() == []


def test_a_server_that_is_gone_is_told_and_one_that_came_back_is_used(
    server: MariaDbServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
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
        assert ids_in(store) == ["m1"]
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


async def test_the_async_twin_goes_on_after_a_restart(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as other:
        make_session(other)
    async with open_async_store(server.url(), prefix) as store:
        await store.append(ADA, "s", [say("m1")])
        server.kill()
        server.start()
        done = await store.append(ADA, "s", [say("m2")])
        assert done.messages[0].depth == 2
        server.stop()
        try:
            with pytest.raises(StoreUnavailableError) as caught:
                await store.append(ADA, "s", [say("m3")])
            assert caught.value.retryable
        finally:
            server.start()
        assert (await store.append(ADA, "s", [say("m3")])).messages[0].depth == 3
