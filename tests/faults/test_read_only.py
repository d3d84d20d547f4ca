"""Rule 15: where nothing may be written, reading works as far as SQLite allows, and says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.errors import StoreError, StoreUnavailableError

from .support import ADA, make_session, open_store, say

SCRIPT = Path(__file__).with_name("restricted.py")
READS = ("read", "find_session", "check", "health")
WRITES = (
    "append",
    "create_session",
    "update_session",
    "delete_session",
    "put_document",
    "finish_deletions",
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="sapwood-"))
    path.chmod(0o777)
    yield path
    path.chmod(0o777)
    shutil.rmtree(path)


def make_database(folder: Path) -> Path:
    path = folder / "s.db"
    with open_store(path) as store:
        make_session(store, "s")
        store.append(ADA, "s", [say("m1")])
    return path


def try_as_nobody(path: Path) -> dict[str, str]:
    """Try all calls in a process without rights; give what each came to."""
    if os.getuid() == 0 and not hasattr(os, "setuid"):
        pytest.skip("this platform cannot give up rights")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, str] = json.loads(done.stdout)
    return told


def assert_reads_only(told: dict[str, str], path: Path) -> None:
    assert {told[name] for name in ("open", *READS, "close")} == {"ok"}
    clear = f"ReadOnlyError: {path} cannot be written: check the permissions of the file"
    for name in WRITES:
        assert told[name].startswith(clear), name


@pytest.mark.fault
def test_a_read_only_file_is_read_and_not_written(folder: Path) -> None:
    path = make_database(folder)
    before = path.read_bytes()
    path.chmod(0o444)
    assert_reads_only(try_as_nobody(path), path)
    assert path.read_bytes() == before


@pytest.mark.fault
def test_a_read_only_folder_is_read_while_a_writer_has_it_open(folder: Path) -> None:
    path = folder / "s.db"
    with open_store(path) as store:
        make_session(store, "s")
        store.append(ADA, "s", [say("m1")])
        folder.chmod(0o555)
        assert_reads_only(try_as_nobody(path), path)
        store.append(ADA, "s", [say("m2")])


@pytest.mark.fault
@pytest.mark.parametrize("mode", [0o444, 0o666])
def test_a_read_only_folder_without_a_log_is_a_read_only_error(folder: Path, mode: int) -> None:
    path = make_database(folder)
    before = {it.name: it.read_bytes() for it in folder.iterdir()}
    path.chmod(mode)
    folder.chmod(0o555)
    told = try_as_nobody(path)
    assert told["open"].startswith(f"ReadOnlyError: {path}")
    assert {it.name: it.read_bytes() for it in folder.iterdir()} == before


@pytest.mark.fault
def test_a_new_file_in_a_read_only_folder_is_refused(folder: Path) -> None:
    folder.chmod(0o555)
    told = try_as_nobody(folder / "new.db")
    clear = f"ReadOnlyError: the folder '{folder}' cannot be written, and has no 'new.db' yet"
    assert told["open"].startswith(clear)
    assert list(folder.iterdir()) == []


@pytest.mark.fault
def test_a_file_that_may_not_be_read_is_refused(folder: Path) -> None:
    path = make_database(folder)
    path.chmod(0)
    assert try_as_nobody(path)["open"].startswith(f"StoreUnavailableError: {path}")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match=r"no folder .*missing.*create it"):
        open_store(tmp_path / "missing" / "s.db")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder: name a file") as caught:
        open_store(tmp_path)
    assert not caught.value.retryable
