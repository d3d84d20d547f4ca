"""The servers that `make servers` started: a file names them, and they run until they are stopped.

A server is known by the id of its process together with what the process is and when it began: an
id that another program has by now is not taken for it, and never stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

FOLDER = Path(__file__).resolve().parents[2] / ".servers"
STOP_S = 30
_disregarded = False


class Server(NamedTuple):
    """A server that was started, as the file tells of it."""

    version: str
    url: str
    folder: str
    processes: dict[str, str]
    """The id of each process, and what it is."""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def is_running(self) -> bool:
        """Tell whether all its processes are there, and somebody answers at its address."""
        if not all(what_is(int(pid)) == what for pid, what in self.processes.items()):
            return False
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True


def _file(folder: Path) -> Path:
    return folder / "running.json"


def read(folder: Path = FOLDER) -> dict[str, Server]:
    """Give the servers that the file names, whether they still run or not."""
    try:
        told: dict[str, Any] = json.loads(_file(folder).read_text())
        return {name: Server(**it) for name, it in told.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write(servers: dict[str, Server], folder: Path = FOLDER) -> None:
    """Write the file anew, or remove it when there is no server left."""
    if not servers:
        _file(folder).unlink(missing_ok=True)
        return
    new = _file(folder).with_suffix(".new")
    new.write_text(json.dumps({name: it._asdict() for name, it in servers.items()}, indent=1))
    new.replace(_file(folder))


def what_is(pid: int) -> str | None:
    """Tell what a process is and when it began; None when there is none."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            before, _, after = stat.read_text().rpartition(")")
        except OSError:
            return None
        fields = after.split()
        return None if fields[0] in "ZX" else f"{before.partition('(')[2]} {fields[19]}"
    told = subprocess.run(
        ["ps", "-p", str(pid), "-o", "stat=,lstart=,comm="], capture_output=True, text=True
    ).stdout.strip()
    return None if not told or told.startswith("Z") else told.partition(" ")[2].strip()


def stop(server: Server) -> None:
    """Stop those of its processes that are still what they were, and remove its data."""
    ours = [(int(pid), what) for pid, what in server.processes.items() if what_is(int(pid)) == what]
    for pid, what in ours:
        # PostgreSQL would wait for its clients at the other signal.
        how = signal.SIGINT if what.startswith("postgres ") else signal.SIGTERM
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
    deadline = time.monotonic() + STOP_S
    for pid, what in ours:
        while what_is(pid) == what and time.monotonic() < deadline:
            time.sleep(0.05)
        if what_is(pid) == what:
            # With all that it started: each leads a group of its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
    shutil.rmtree(server.folder, ignore_errors=True)


def disregard() -> None:
    """Use none of them from now on: each process of tests starts servers of its own."""
    global _disregarded
    _disregarded = True


@cache
def given(variable: str, name: str, folder: Path = FOLDER) -> str | None:
    """Give the URL of a server that is there already: the user's own, or one of `make servers`."""
    theirs = os.environ.get(variable)
    if theirs or _disregarded:
        return theirs or None
    server = read(folder).get(name)
    return server.url if server is not None and server.is_running() else None
