"""Readers never wait for the writer, see one state, and do not let the log grow without end."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import NotFoundError, StoreCorruptError
from sapwood.model import Read
from sapwood.stores.sqlite import SqliteStore, connection

from .faulty import FaultyVfs
from .support import ADA, fill, ids_in, make_session, open_store, raw, run_in_threads, say

MEGABYTE = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def vfs() -> Iterator[FaultyVfs]:
    faulty = FaultyVfs(f"sapwood-slow-{uuid.uuid4().hex}")
    yield faulty
    faulty.unregister()


@contextmanager
def in_thread(target: object) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=target)  # type: ignore[arg-type]
    thread.start()
    try:
        yield thread
    finally:
        thread.join(60)
        assert not thread.is_alive()


def test_a_reader_during_a_long_write_sees_what_was_before_it(path: Path, vfs: FaultyVfs) -> None:
    with open_store(path, vfs=vfs.name) as store:
        make_session(store, "s")
        fill(store, "s", 50)
        vfs.hold_next_sync()
        with in_thread(lambda: store.append(ADA, "s", [say(f"n{n}") for n in range(2_000)])):
            assert vfs.is_waiting.wait(30)
            for _ in range(20):
                assert len(ids_in(store, "s")) == 50
            record = store.find_session(ADA, "s")
            assert record is not None
            assert (record.messages, record.tip) == (50, "s-49")
            with open_store(path) as other:
                assert len(ids_in(other, "s")) == 50
            # All of this was answered while the write was still under way.
            assert not vfs._gate.is_set()
            vfs.let_go()
        assert len(ids_in(store, "s")) == 2_050


def test_a_reader_during_a_long_deletion_sees_all_or_nothing(path: Path, vfs: FaultyVfs) -> None:
    with open_store(path, vfs=vfs.name) as store:
        make_session(store, "s")
        fill(store, "s", 2_000)
        vfs.hold_next_sync()
        with in_thread(lambda: store.delete_session(ADA, "s")):
            assert vfs.is_waiting.wait(30)
            assert len(ids_in(store, "s")) == 2_000
            vfs.let_go()
        with pytest.raises(NotFoundError):
            store.read(ADA, "s", Read())


def test_one_read_is_one_snapshot_while_writers_go_on(path: Path) -> None:
    with open_store(path, durability="normal") as store:
        make_session(store, "s")
        done = threading.Event()

        def write() -> None:
            for n in range(300):
                store.append(ADA, "s", [say(f"{n}.{k}") for k in range(5)])
            done.set()

        with in_thread(write):
            while not done.is_set():
                history = store.read(ADA, "s", Read())
                assert len(history.messages_only) % 5 == 0
                if history.messages_only:
                    assert history.tip == history.messages_only[-1].id


def pages_of(store: SqliteStore, session: str, size: int) -> Iterator[list[str]]:
    """Stream a history page by page."""
    after, more = 0, True
    while more:
        history = store.read(ADA, session, Read(after=after, limit=size))
        after, more = history.messages_only[-1].depth, history.more
        yield [it.id for it in history.messages_only]


def test_a_streamed_history_does_not_hold_up_checkpoints(path: Path) -> None:
    with open_store(path) as store, raw(path) as outside:
        make_session(store, "s")
        fill(store, "s", 1_000)
        outside.set_busy_timeout(0)
        empty = "PRAGMA wal_checkpoint(TRUNCATE)"
        seen: list[str] = []
        for page in pages_of(store, "s", 100):
            seen += page
            store.append(ADA, "s", [say(f"late-{len(seen)}")])
            # Waits for nobody: it says that it is busy while a read transaction is open. The
            # indexer's are short; a stream's would not end here.
            wait_until(lambda: outside.execute(empty).fetchall() == [(0, 0, 0)])
            wait_until(lambda: log_size(path) == 0)
        assert seen[:1_000] == [f"s-{n}" for n in range(1_000)]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def log_size(path: Path) -> int:
    log = Path(f"{path}-wal")
    return log.stat().st_size if log.exists() else 0


class RestlessReaders:
    """Readers that come and go so that there is never a moment without one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stop = threading.Event()
        self._turns = [threading.Event(), threading.Event()]

    def __enter__(self) -> None:
        self._threads = [threading.Thread(target=self._read, args=(n,)) for n in range(2)]
        for thread in self._threads:
            thread.start()
        self._turns[0].set()

    def __exit__(self, *details: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self, me: int) -> None:
        with raw(self._path) as reader:
            while not self._stop.is_set():
                if not self._turns[me].wait(0.1):
                    continue
                self._turns[me].clear()
                reader.execute("BEGIN; SELECT count(*) FROM session").fetchall()
                self._turns[1 - me].set()
                time.sleep(0.01)
                reader.execute("COMMIT")


@pytest.mark.parametrize(("count", "size"), [(3_000, 5_000), (150, 300_000)])
def test_the_log_stays_near_its_cap_with_readers_without_a_gap(
    path: Path, monkeypatch: pytest.MonkeyPatch, count: int, size: int
) -> None:
    monkeypatch.setattr(connection, "WAL_CAP_BYTES", 8 * MEGABYTE)
    largest = 0
    with open_store(path, durability="normal") as store:
        make_session(store, "s")
        with RestlessReaders(path):
            for n in range(count):
                store.append(ADA, "s", [say(f"m{n}", "x" * size)])
                largest = max(largest, log_size(path))
        assert store.admin.check() == []
    assert largest < 24 * MEGABYTE


def test_settle_gets_past_readers_without_a_gap(path: Path) -> None:
    with open_store(path, patience_s=5) as store:
        make_session(store, "s")
        with RestlessReaders(path):
            for n in range(10):
                store.append(ADA, "s", [say(f"{n}.{k}") for k in range(20)])
                store.finish_deletions()
                assert log_size(path) == 0


def test_a_read_that_failed_in_the_middle_holds_no_snapshot(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        fill(store, "s", 20)
        with raw(path) as beside:
            beside.execute("UPDATE message SET body = x'00' WHERE pos & 255 = 5").fetchall()
        with pytest.raises(StoreCorruptError) as kept:
            store.read(ADA, "s", Read())
        store.append(ADA, "s", [say("later")])
        with raw(path) as beside:
            [(busy, _, _)] = beside.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert (busy, kept.type) == (0, StoreCorruptError)


def test_a_snapshot_held_open_stops_nobody_and_the_log_shrinks_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WAL_CAP_BYTES", 8 * MEGABYTE)
    with open_store(path, durability="normal") as store, raw(path) as reader:
        make_session(store, "s")
        reader.execute("BEGIN; SELECT count(*) FROM session").fetchall()
        begun = time.monotonic()
        for n in range(1_000):
            store.append(ADA, "s", [say(f"m{n}", "x" * 8_000)])
        assert time.monotonic() - begun < 30
        assert log_size(path) > 8 * MEGABYTE
        assert reader.execute("SELECT count(*) FROM message").fetchall() == [(0,)]
        reader.execute("COMMIT")
        for n in range(600):
            store.append(ADA, "s", [say(f"n{n}")])
        assert log_size(path) <= 8 * MEGABYTE


def test_stores_that_settle_one_file_at_once_wait_for_each_other(path: Path) -> None:
    """SQLite does not ask the busy handler when somebody else is at a checkpoint."""
    stores = [open_store(path) for _ in range(3)]
    make_session(stores[0], "s")

    def write_and_settle(writer: int) -> None:
        for n in range(150):
            stores[writer].append(ADA, "s", [say(f"{writer}.{n}")])
            stores[writer].finish_deletions()

    run_in_threads(*(lambda writer=writer: write_and_settle(writer) for writer in range(3)))
    assert len(ids_in(stores[0], "s")) == 450
    for store in stores:
        store.close()


class _TakenFirst(list[object]):
    """Holds a reader when it is looked at, and none when it is taken: another thread was first."""

    def __bool__(self) -> bool:
        return True


def test_a_reader_that_another_thread_takes_first_is_made_anew(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        fill(store, "s", 1)
        readers: Any = store._runner._readers  # type: ignore[attr-defined]
        readers._close_free()
        readers._free = _TakenFirst()
        assert len(ids_in(store, "s")) == 1
