"""Real processes that ask for the same keys at once, and some that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import sapwood
from sapwood.model import SessionKey

KEY = SessionKey("bot", "web", "bob")
ASK = """
import sys, sapwood
with sapwood.open(sys.argv[1], owner="ada", durability="normal") as sessions:
    sys.stdin.readline()
    print(sessions.get_or_create("bot:web:bob").id, flush=True)
"""
SWITCH = """
import sys, sapwood
with sapwood.open(sys.argv[1], owner="ada", durability="normal") as sessions:
    sessions.with_hook(lambda event: None, name="note")
    print("ready", flush=True)
    while True:
        chat = sessions.new("bot:web:bob")
        sessions.branch("bot:web:bob")
        sessions.resume("bot:web:bob", chat.id)
"""


def test_processes_that_ask_at_once_get_one_session(tmp_path: Path) -> None:
    path = str(tmp_path / "sessions.db")
    sapwood.open(path, owner="ada").close()
    started = [_start(ASK, path) for _ in range(8)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ids = {process.communicate()[0].strip() for process in started}
    assert all(process.returncode == 0 for process in started)
    assert len(ids) == 1
    with sapwood.open(path, owner="ada") as sessions:
        assert [it.id for it in sessions.list_sessions(kind=None).sessions] == list(ids)


def test_killed_switches_leave_one_current_session(tmp_path: Path) -> None:
    path = str(tmp_path / "sessions.db")
    for _ in range(3):
        started = [_start(SWITCH, path) for _ in range(2)]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        with sapwood.open(path, owner="ada") as sessions:
            chat = sessions.get_or_create(KEY)
            chat.append("user", "hello")
            found = sessions.list_sessions(kind=None, limit=500).sessions
            # Beside it, only what a process had just made or opened when it was killed.
            loose = [it for it in found if not it.closed and it.id != chat.id]
            assert len(loose) <= 2 * 3
            assert all(it.messages == 0 or it.system.life for it in loose)


def _start(code: str, path: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
