"""The client processes of a soak."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from ledger import Noted

WRITER = Path(__file__).with_name("writer.py")
TWINS = ("sync", "async", "sync", "async")


class Clients:
    """Processes that write, each with a ledger of its own."""

    def __init__(self, url: str, folder: Path, chance: random.Random) -> None:
        self._url = url
        self._folder = folder
        self._chance = chance
        self._running = [self._start(n) for n in range(len(TWINS))]

    def _ledger(self, number: int) -> Path:
        return self._folder / f"w{number}"

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        args = [self._url, f"w{number}", str(self._ledger(number)), TWINS[number]]
        # What the driver's pool has to say about lost connections is no news here.
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, str(WRITER), *args],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def kill_one(self) -> None:
        """Kill one of them, and start it again: it goes on where its ledger ends."""
        number = self._chance.randrange(len(TWINS))
        self._running[number].kill()
        self._running[number].wait()
        self._running[number] = self._start(number)

    def end(self) -> list[Noted]:
        """Let all of them finish what they have begun, and give what they noted."""
        for process in self._running:
            process.stdin.close()  # type: ignore[union-attr]
        noted = []
        for number, process in enumerate(self._running):
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            said = Noted(self._ledger(number))
            if process.returncode:
                said.wrong.append(f"client {number} ended with {process.returncode}")
            said.wrong += [f"{id} was never acknowledged" for id in said.open]
            noted.append(said)
        return noted
