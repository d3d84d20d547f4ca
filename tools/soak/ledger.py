"""What a client noted: each id before it was sent, and after it was acknowledged."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

SESSIONS = 4
SHARED = "shared"


def session_of(id: str) -> str:
    """Return the session that a message goes to: every fifth goes to one that all write to."""
    writer, lane, number = id.split("-")
    return SHARED if int(number) % 5 == 0 else f"{writer}-{lane}"


class Ledger:
    """A file that survives its writer: what was written is with the system at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, what: str, about: str) -> None:
        """Add a line, whole."""
        os.write(self._file, f"{what} {about}\n".encode())


class Noted:
    """What a ledger says."""

    def __init__(self, path: Path) -> None:
        self.begun: list[str] = []
        self.done: list[str] = []
        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()
        for line in path.read_text().splitlines() if path.exists() else ():
            what, _, about = line.partition(" ")
            self.counts[what] += 1
            kept = {"begin": self.begun, "done": self.done, "wrong": self.wrong}.get(what)
            if kept is not None:
                kept.append(about)

    @property
    def open(self) -> list[str]:
        """The ids that were sent and not acknowledged."""
        done = set(self.done)
        return [id for id in dict.fromkeys(self.begun) if id not in done]

    def next_number(self, lane: int) -> int:
        """Return the number after the last that a lane used."""
        used = [int(id.split("-")[2]) for id in self.begun if id.split("-")[1] == f"{lane}"]
        return max(used, default=-1) + 1
