"""Sessions shared by real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sapwood

CREATE = """
import sys
import sapwood

with sapwood.open("sqlite:///race.db", owner="ada") as sessions:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(int(sys.argv[2])):
        sessions.session(f"s{n}").append("user", sys.argv[1])
"""

PIN = """
import sys
import sapwood

with sapwood.open("sqlite:///race.db", owner="ada") as sessions:
    print("ready", flush=True)
    sys.stdin.readline()
    chat = sessions.session("chat")
    for n in range(int(sys.argv[2])):
        chat.pin(chat.append("user", sys.argv[1]))
"""


def race(script: str, processes: int, rounds: int, folder: Path) -> None:
    """Start processes, let them all go at once, and wait for them."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, f"p{n}", str(rounds)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=120)
        assert process.returncode == 0


def test_processes_that_create_the_same_sessions_at_once_share_them(tmp_path: Path) -> None:
    race(CREATE, processes=4, rounds=20, folder=tmp_path)
    with sapwood.open(f"sqlite:///{tmp_path}/race.db", owner="ada") as sessions:
        assert len(sessions.list_sessions().sessions) == 20
        for n in range(20):
            texts = [m.text for m in sessions.get(f"s{n}").history().messages_only]
            assert sorted(texts) == ["p0", "p1", "p2", "p3"]


def test_no_pin_is_lost_between_processes(tmp_path: Path) -> None:
    race(PIN, processes=4, rounds=10, folder=tmp_path)
    with sapwood.open(f"sqlite:///{tmp_path}/race.db", owner="ada") as sessions:
        chat = sessions.get("chat")
        ids = [message.id for message in chat.history().messages_only]
        assert len(ids) == 40
        assert sorted(chat.pins()) == sorted(ids)
