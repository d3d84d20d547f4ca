"""Rule 6: blind appends of many threads in many processes all land, in each writer's order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .crowd import SHARED, THREADS, message_id, session_for
from .support import assert_sound, ids_in, make_session, open_store

PROCESSES = 4
MESSAGES = 120
CROWD = Path(__file__).with_name("crowd.py")


def start(path: Path, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CROWD), str(path), str(number), str(MESSAGES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_all(path: Path) -> list[str]:
    """Let all processes go at once; give what went wrong in them."""
    processes = [start(path, number) for number in range(PROCESSES)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    wrong = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES
    return [line for lines in wrong for line in lines.splitlines()]


@pytest.mark.fault
def test_four_processes_of_eight_threads_lose_nothing_and_are_never_told_busy(
    tmp_path: Path,
) -> None:
    path = tmp_path / "crowd.db"
    writers = [(p, w) for p in range(PROCESSES) for w in range(THREADS)]
    with open_store(path) as store:
        for session in (*SHARED, *(f"own-{p}-{w}" for p, w in writers)):
            make_session(store, session)
    assert run_all(path) == []
    with open_store(path) as store:
        found = {name: ids_in(store, name) for name in SHARED}
        found |= {name: ids_in(store, name) for name in (f"own-{p}-{w}" for p, w in writers)}
    assert sum(map(len, found.values())) == len(writers) * MESSAGES
    for process, writer in writers:
        assert_landed_in_order(found, process, writer)
    assert_sound(path)


def assert_landed_in_order(found: dict[str, list[str]], process: int, writer: int) -> None:
    expected: dict[str, list[str]] = {}
    for n in range(MESSAGES):
        session = session_for(process, writer, n)
        expected.setdefault(session, []).append(message_id(process, writer, n))
    for session, ids in expected.items():
        mine = set(ids)
        assert [id for id in found[session] if id in mine] == ids


@pytest.mark.fault
def test_processes_that_make_the_file_at_once_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    # Nobody creates the sessions, so that every append is refused, in our words.
    wrong = run_all(path)
    assert {line.partition(":")[0] for line in wrong} == {"NotFoundError"}
    assert_sound(path)
