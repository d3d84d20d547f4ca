"""A session of 100,000 messages is deleted while others append, and holds nobody up."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from tier import often

from sapwood.stores.sqlite import SqliteStore

from .support import ADA, assert_sound, fill, ids_in, make_session, open_store, raw, say, value

MESSAGES = often(25_000, 100_000)
WRITERS = 4


class Appenders:
    """Threads that append without end and note how long each append took."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._stop = threading.Event()
        self.waits: list[float] = []
        self.told: list[list[str]] = [[] for _ in range(WRITERS)]
        self._threads = [threading.Thread(target=self._append, args=(n,)) for n in range(WRITERS)]

    def __enter__(self) -> Appenders:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _append(self, writer: int) -> None:
        told = self.told[writer]
        while not self._stop.is_set():
            begun = time.monotonic()
            id = f"{writer}.{len(told)}"
            self._store.append(ADA, f"other-{writer}", [say(id)])
            self.waits.append(time.monotonic() - begun)
            told.append(id)


def left_to_sweep(path: Path) -> bool:
    return bool(value(path, "SELECT EXISTS (SELECT 1 FROM sweep)"))


@pytest.mark.fault
@pytest.mark.parametrize("way", ["delete", "clear"])
def test_others_append_while_very_many_messages_go(tmp_path: Path, way: str) -> None:
    path = tmp_path / "s.db"
    with open_store(path, durability="normal") as store:
        make_session(store, "big")
        fill(store, "big", MESSAGES, "x" * 40)
        for writer in range(WRITERS):
            make_session(store, f"other-{writer}")
        with Appenders(store) as others:
            (store.delete_session if way == "delete" else store.clear_session)(ADA, "big")
            count = len(others.waits)
            while left_to_sweep(path):
                time.sleep(0.05)
            during = len(others.waits) - count
        # A thousand chunks at least, and somebody got a turn between most of them.
        assert during > 500
        assert max(others.waits) < 5
        store.finish_deletions()
        for writer in range(WRITERS):
            assert ids_in(store, f"other-{writer}") == others.told[writer]
    assert_nothing_left(path, sum(map(len, others.told)))
    assert_sound(path)


def assert_nothing_left(path: Path, others: int) -> None:
    with raw(path) as connection:
        assert connection.execute("SELECT count(*) FROM message").fetchall() == [(others,)]
        assert connection.execute("SELECT count(*) FROM segment").fetchall() == [(WRITERS,)]
        assert connection.execute("SELECT count(*) FROM sweep").fetchall() == [(0,)]


@pytest.mark.fault
def test_a_sweep_that_was_cut_off_goes_on_when_the_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path, durability="normal") as store:
        make_session(store, "big")
        fill(store, "big", 20_000)
        store.delete_session(ADA, "big")
    assert left_to_sweep(path)
    with open_store(path):
        deadline = time.monotonic() + 60
        while left_to_sweep(path):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert value(path, "SELECT count(*) FROM message") == 0
    assert_sound(path)
