"""A backup is the database at one moment, whoever writes meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import sapwood
from sapwood.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    StoreUnavailableError,
    UsageError,
)
from sapwood.stores.sqlite import backup

WRITER = """
import sys, sapwood
with sapwood.open(f"sqlite:///{sys.argv[1]}", durability="normal") as sessions:
    left, right = sessions.session("left"), sessions.session("right")
    n = 0
    while True:
        left.append("user", f"{n} " * 50, id=f"l{n}")
        right.append("user", f"{n} " * 50, id=f"r{n}")
        n += 1
        if n == 200:
            print("going", flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with sapwood.open(f"sqlite:///{path}", durability="normal") as sessions:
        sessions.session("s").append("user", "hello")
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "going\n"
        yield process
        assert process.poll() is None
        process.kill()


@pytest.mark.fault
def test_it_is_consistent_while_another_process_writes(
    path: Path, writer: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_IN_A_STEP", 5)
    before, steps, begun = appended(path), 0, 0

    def wait(done: int, total: int) -> None:
        nonlocal steps, begun
        steps += 1
        begun = begun or appended(path)  # what is copied was settled with the first step
        assert steps < 5_000, "it begins anew all the time"
        time.sleep(0.002)

    with sapwood.open(f"sqlite:///{path}") as sessions:
        sessions.store.admin.backup(tmp_path / "copy.db", progress=wait)
    assert steps > 10
    assert appended(path) > before + 10, "nobody wrote meanwhile"
    with sapwood.open(f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.store.admin.check() == []
        left, right = (copy.get(name).record().messages for name in ("left", "right"))
        assert left - right in (0, 1)
        assert left <= begun, "it began anew while others wrote"


def appended(path: Path) -> int:
    with sapwood.open(f"sqlite:///{path}") as sessions:
        return sessions.get("left").record().messages


def test_what_fails_leaves_nothing_behind(path: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with sapwood.open(f"sqlite:///{path}") as sessions:
        before = set(tmp_path.iterdir())
        with pytest.raises(KeyboardInterrupt):
            sessions.store.admin.backup(tmp_path / "copy.db", progress=stop)
        assert set(tmp_path.iterdir()) == before
        sessions.session("s").append("user", "it still writes")


def test_the_database_itself_is_not_overwritten(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(path)
    with sapwood.open(f"sqlite:///{path}") as sessions:
        for name in ("agent.db", "link.db"):
            with pytest.raises(UsageError, match="itself"):
                sessions.store.admin.backup(tmp_path / name, replace=True)


OWN = [f"agent.db{own}" for own in ("", "-journal", "-wal", "-shm", "-search", "-search-wal")]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_a_file_of_the_databases_own_is_not_written(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, replace: bool
) -> None:
    """Whether it is there or not: a copy under the log's name would be taken for the log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").symlink_to(tmp_path)
    with sapwood.open(f"sqlite:///{path}") as sessions:
        sessions.session("s").append("user", "still here")
        before = {it.name for it in tmp_path.iterdir()}
        for way in (tmp_path / name, Path(name), tmp_path / "folder" / name):
            with pytest.raises(UsageError, match="its own") as caught:
                sessions.store.admin.backup(way, replace=replace)
            assert caught.value.path == "path"
        assert {it.name for it in tmp_path.iterdir()} == before
    with sapwood.open(f"sqlite:///{path}") as again:
        assert [it.text for it in again.get("s").history().messages_only] == ["hello", "still here"]
        assert again.store.admin.check() == []


def test_a_link_to_a_file_of_the_databases_own_is_not_replaced(path: Path, tmp_path: Path) -> None:
    with sapwood.open(f"sqlite:///{path}") as sessions:
        sessions.session("s").append("user", "still here")
        (tmp_path / "copy.db").hardlink_to(f"{path}-wal")
        with pytest.raises(UsageError, match="its own"):
            sessions.store.admin.backup(tmp_path / "copy.db", replace=True)


@pytest.mark.parametrize("name", ["agent.db-copy", "agent.db-wal.db", "other.db-wal", "agent.db."])
def test_a_name_that_only_looks_like_one_of_its_own_is_taken(
    path: Path, tmp_path: Path, name: str
) -> None:
    with sapwood.open(f"sqlite:///{path}") as sessions:
        sessions.store.admin.backup(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0


def test_a_database_in_use_is_not_replaced(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sapwood.open(f"sqlite:///{other}") as used, sapwood.open(f"sqlite:///{path}") as sessions:
        used.session("x").append("user", "y")
        with pytest.raises(ConflictError, match="in use"):
            sessions.store.admin.backup(other, replace=True)
        assert used.get("x").record().messages == 1


def test_a_folder_that_is_not_there_is_named(path: Path, tmp_path: Path) -> None:
    with sapwood.open(f"sqlite:///{path}") as sessions:
        with pytest.raises(StoreUnavailableError, match="no folder"):
            sessions.store.admin.backup(tmp_path / "nowhere" / "copy.db")
        with pytest.raises(AlreadyExistsError):
            sessions.store.admin.backup(tmp_path)
        with pytest.raises(UsageError):
            sessions.store.admin.backup(tmp_path, replace=True)


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_a_name_taken_meanwhile_is_not_overwritten(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"

    def take(done: int, total: int) -> None:
        copy.write_text("mine")

    with sapwood.open(f"sqlite:///{path}") as sessions, pytest.raises(AlreadyExistsError):
        sessions.store.admin.backup(copy, progress=take)
    assert copy.read_text() == "mine"


def test_two_threads_that_make_the_same_copy_do_not_disturb_each_other(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_IN_A_STEP", 5)
    copy = tmp_path / "copy.db"
    with sapwood.open(f"sqlite:///{path}") as sessions, ThreadPoolExecutor() as threads:
        others: list[Future[None]] = []

        def copy_too(done: int, total: int) -> None:
            if not others:
                others.append(threads.submit(sessions.store.admin.backup, copy, replace=True))
                others[0].result(60)

        sessions.store.admin.backup(copy, replace=True, progress=copy_too)
    with sapwood.open(f"sqlite:///{copy}") as copied:
        assert copied.store.admin.check() == []
        assert copied.store.statistics("default").messages == 1
    assert list(tmp_path.glob("*.unfinished*")) == []


def test_a_cursor_from_before_a_restore_is_refused(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with sapwood.open(f"sqlite:///{path}") as sessions:
        before = sessions.store.changes("default").cursor
        sessions.store.admin.backup(copy)
        for n in range(10):
            sessions.session("s").append("user", f"lost {n}")
        ahead = sessions.store.changes("default").cursor
    with sapwood.open(f"sqlite:///{copy}") as sessions:
        sessions.session("s").append("user", "new", id="new")
        for reader in (None, "mirror"):
            with pytest.raises(NotFoundError, match="restored: read everything"):
                sessions.store.changes("default", after=ahead, reader=reader)
        [change] = sessions.store.changes("default", after=before).changes
        assert change.message == "new"
