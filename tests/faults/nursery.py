"""Processes that write until they are killed, as seen by the one who kills them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .support import wait_until

NOTE = re.compile(r'\["(open|create|append|deleted|cleared|error)"')
ACTORS = Path(__file__).with_name("actors.py")


def read_notes(text: str) -> list[list[Any]]:
    """Read what a killed process noted; a kill may cut short the note that it was writing."""
    notes = []
    for line in text.split("\n")[:-1]:
        # Another thread's note may have come right after one that was cut short.
        *_, begin = (found.start() for found in NOTE.finditer(line))
        notes.append(json.loads(line[begin:]))
    return notes


class Nursery:
    """Forks writers from a warm process, and kills them."""

    def __init__(self, database: Path, script: Sequence[str | Path] = (ACTORS,)) -> None:
        self.database = database
        self.kills = 0
        self._process = subprocess.Popen(
            [sys.executable, *map(str, script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def live_and_kill(
        self,
        life: int,
        group: str,
        delay_s: float,
        *,
        once_it_noted: bool = False,
        **options: str,
    ) -> list[list[Any]]:
        """Let a writer live for a while, kill it, and give what it noted.

        With `once_it_noted` the while begins at its first note.
        """
        notes = self.database.with_name(f"notes-{life}")
        orders = {
            "path": str(self.database),
            "notes_path": str(notes),
            "life": life,
            "group": group,
            **options,
        }
        child = int(self._ask(json.dumps(orders)))
        if once_it_noted:
            wait_until(lambda: notes.exists() and notes.stat().st_size > 0)
        time.sleep(delay_s)
        os.kill(child, signal.SIGKILL)
        assert self._ask("") == "buried"
        self.kills += 1
        return read_notes(notes.read_text()) if notes.exists() else []

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()
