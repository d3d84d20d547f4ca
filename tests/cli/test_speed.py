"""A command on a big store takes little more than importing what it is made of."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import sapwood

from .command import SAPWOOD, Command

MOST = 3.0
TURNS = 9
BASE = [sys.executable, "-c", "import click, rich.table, apsw"]
COMMANDS = (["ls"], ["show", "long"], ["show", "long", "--history"], ["search", "needle"])


@pytest.fixture
def big(tmp_path: Path) -> Command:
    """Make 10,000 sessions, and one of 10,000 messages."""
    with sapwood.open(f"sqlite:///{tmp_path}/agent.db", durability="normal") as sessions:
        for n in range(10_000):
            sessions.create(f"session-{n}", title=f"About {n}")
        chat = sessions.session("long")
        for n in range(0, 10_000, 500):
            texts = [f"message {n + i} " + "lorem ipsum " * 20 for i in range(500)]
            chat.append_all([("user", text) for text in texts])
        chat.append("user", "a needle")
        sessions.settle()
    return Command(tmp_path, "sqlite:///agent.db")


@pytest.mark.slow
def test_a_page_costs_at_most_three_times_the_imports(big: Command) -> None:
    def seconds(command: list[str]) -> float:
        begun = time.perf_counter()
        subprocess.run(command, cwd=big.folder, env=big.env, capture_output=True, check=True)
        return time.perf_counter() - begun

    # In turns, and the fastest of each: other work on the machine hits them alike.
    commands = [BASE, *([SAPWOOD, *args] for args in COMMANDS)]
    took = [[seconds(command) for command in commands] for _ in range(TURNS)]
    base, *ours = (min(times) for times in zip(*took, strict=True))
    for args, time_taken in zip(COMMANDS, ours, strict=True):
        assert time_taken <= MOST * base, f"{args}: {time_taken / base:.1f} times the imports"
