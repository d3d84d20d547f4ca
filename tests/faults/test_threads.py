"""A thread that cannot be had, or only just, is no reason for an error or for waiting for ever."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest

from sapwood.errors import ClosedError

from .support import ADA, ids_in, make_session, open_store, run_in_threads, say, writer_of

START = threading.Thread.start


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no thread of a store's own begin, as at the limit of the system, or as Python ends."""

    def start(self: threading.Thread) -> None:
        if self.name.startswith("sapwood-"):
            raise RuntimeError("can't start new thread")
        START(self)

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.fault
@pytest.mark.usefixtures("without_threads")
def test_what_was_committed_is_told_as_done_when_no_thread_can_begin(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        make_session(store, "t")
        store.append(ADA, "s", [say("m1")])
        store.delete_session(ADA, "t")
        assert ids_in(store, "s") == ["m1"]
    with open_store(path) as store:
        store.finish_deletions()
        assert store.admin.check() == []


@pytest.mark.fault
@pytest.mark.usefixtures("without_threads")
def test_writers_that_wait_are_served_when_no_thread_can_begin(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        begun, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            writer_of(store).write(lambda _: (begun.set(), go_on.wait(20)))

        def append(n: int) -> None:
            begun.wait(20)
            threading.Timer(0.1, go_on.set).start()
            store.append(ADA, "s", [say(f"m{n}")])

        run_in_threads(hold, *[lambda n=n: append(n) for n in range(4)], timeout_s=20)
        assert sorted(ids_in(store, "s")) == ["m0", "m1", "m2", "m3"]


@pytest.mark.fault
@pytest.mark.parametrize("name", ["sapwood-sweeper", "sapwood-indexer"])
def test_closing_as_a_thread_begins_closes_the_store(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    begins, closed = threading.Event(), threading.Event()

    def start(self: threading.Thread) -> None:
        if self.name == name:
            begins.set()
            closed.wait(0.5)
        START(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    store = open_store(path)

    def use() -> None:
        with contextlib.suppress(ClosedError):
            make_session(store, "s")
            store.delete_session(ADA, "s")

    def close() -> None:
        begins.wait(20)
        store.close()
        closed.set()

    run_in_threads(use, close, timeout_s=30)
    assert closed.is_set()
    assert not path.with_name("s.db-wal").exists()
