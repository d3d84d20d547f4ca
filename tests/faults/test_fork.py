"""A store that was opened before `fork()` is refused in the child, clearly, and stays intact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sapwood.stores.sqlite import inheritance

from .forked import CALLS
from .support import assert_sound

SCRIPT = Path(__file__).with_name("forked.py")


def run(path: Path, way: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(SCRIPT), str(path), way],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.fault
@pytest.mark.parametrize("way", ["_exit", "sys.exit", "multiprocessing", "async"])
def test_every_call_in_a_forked_child_is_refused_and_the_parent_goes_on(
    tmp_path: Path, way: str
) -> None:
    path = tmp_path / "s.db"
    found = run(path, way)
    assert found["status"] == 0
    assert set(found["told"]) == set(CALLS)
    for told in found["told"].values():
        assert told.startswith("ClosedError")
        assert "opened before this process was forked" in told
        assert "open it again in the child" in told
    assert found["parent"] == ["before", "after"]
    assert_sound(path)


@pytest.mark.fault
def test_a_fork_at_any_moment_of_writing_hangs_nobody_and_loses_nothing(tmp_path: Path) -> None:
    found = run(tmp_path / "s.db", "while writing")
    assert found["statuses"] == ["0"]
    assert found["kinds"] == ["ClosedError"]
    assert found["lost"] == 0
    assert found["written"] > 0
    assert_sound(tmp_path / "s.db")


@pytest.mark.fault
def test_a_child_forked_while_rows_are_removed_may_open_a_store(tmp_path: Path) -> None:
    found = run(tmp_path / "s.db", "while sweeping")
    assert found["forks"] > 5
    assert found["statuses"] == ["0"]


@pytest.mark.fault
@pytest.mark.parametrize("lock", [inheritance.OPENING, inheritance.INDEXING])
def test_a_fork_that_does_not_wait_longer_leaves_work_under_way_alone(
    lock: threading.Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inheritance, "FORK_PATIENCE_S", 0.01)
    with lock:
        child = os.fork()
        if child == 0:
            os._exit(int(lock.locked()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert lock.locked()


@pytest.mark.fault
def test_a_forked_child_may_open_the_store_again(tmp_path: Path) -> None:
    found = run(tmp_path / "s.db", "reopened")
    assert found["status"] == 0
    assert found["parent"] == ["child", "after"]
    assert_sound(tmp_path / "s.db")


@pytest.mark.fault
def test_a_childs_own_store_outlives_its_parents(tmp_path: Path) -> None:
    found = run(tmp_path / "s.db", "outlived")
    assert found["status"] == 0
    assert found["stored"] == ["before", *(f"child-{n}" for n in range(12))]
    assert_sound(tmp_path / "s.db")


@pytest.mark.fault
def test_children_forked_at_any_moment_write_to_the_same_file(tmp_path: Path) -> None:
    found = run(tmp_path / "s.db", "reopened while working")
    assert found["statuses"] == ["0"]
    assert found["lost"] == 0
    assert_sound(tmp_path / "s.db")


@pytest.mark.fault
def test_a_child_forked_while_a_write_does_not_end_opens_nothing(tmp_path: Path) -> None:
    found = run(tmp_path / "s.db", "not at rest")
    assert found["status"] == 0
    assert found["told"]["open"].startswith("StoreError")
    assert "forked while another thread was inside SQLite" in found["told"]["open"]
    assert_sound(tmp_path / "s.db")
