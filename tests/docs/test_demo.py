"""The demo shows the main job, and what it says at the end works."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import sapwood

from .blocks import ROOT

TOKENS = re.compile(r"(\d+) tokens become (\d+):.*Undone: (\d+) tokens, 30 messages", re.S)


def run_demo(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_demo_runs_and_runs_again(tmp_path: Path) -> None:
    for _ in range(2):
        done = run_demo(tmp_path)
        assert done.returncode == 0, done.stderr
    assert "\033" not in done.stdout
    assert len(done.stdout.splitlines()) <= 90
    for shown in ("├─●", "└─●", "┃ ●", "◀ tip of lisbon-cheap", "summary    Wants", "sea [otter]s"):
        assert shown in done.stdout
    for shown in ("TRAVELLER (What you know of them)", "the tool update_context", "First request"):
        assert shown in done.stdout
    before, after, undone = map(int, TOKENS.search(done.stdout).groups())  # type: ignore[union-attr]
    assert after < before == undone
    assert "started by" in done.stdout
    with sapwood.open(f"sqlite:///{tmp_path}/demo.db", owner="demo") as sessions:
        assert [m.id for m in sessions.get("lisbon").history().messages_only][-1] == "rain"


def test_what_the_demo_says_at_the_end_works(tmp_path: Path) -> None:
    *_, python, shell = run_demo(tmp_path).stdout.splitlines()
    commands = [python, shell] if shutil.which("sqlite3") else [shell]
    for command in commands:
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "And when it rains?" in done.stdout


def make_text(file: Path) -> None:
    file.write_text("my notes, " * 1000)


def make_foreign_database(file: Path) -> None:
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE notes (text)")
    database.close()


def make_other_sessions(file: Path) -> None:
    with sapwood.open(f"sqlite:///{file}", owner="ada") as sessions:
        sessions.session("chat").append("user", "hello")


@pytest.mark.parametrize("make", [make_text, make_foreign_database, make_other_sessions])
def test_the_demo_leaves_a_file_that_is_not_its_own(make: object, tmp_path: Path) -> None:
    file = tmp_path / "demo.db"
    make(file)  # type: ignore[operator]
    before = file.read_bytes()
    done = run_demo(tmp_path)
    assert done.returncode == 1
    assert "move it away" in done.stderr
    assert file.read_bytes() == before
