"""A server as a child process, in a folder of its own, on a loopback port of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Kept(NamedTuple):
    """Where servers have their folders, and what was started there."""

    place: Path
    processes: list[subprocess.Popen[bytes]]


_kept: ContextVar[Kept | None] = ContextVar("kept", default=None)


@contextmanager
def kept_in(place: Path) -> Iterator[Kept]:
    """Let servers that are started meanwhile have their folders there, and tell of each."""
    kept = Kept(place, [])
    before = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(before)


class Folder:
    """A folder that belongs to whom the server runs as: not root, where that is refused."""

    def __init__(self, name: str, user: str) -> None:
        # Short: the name of a Unix socket in it has a limit.
        self._kept = _kept.get()
        place = self._kept and self._kept.place
        self.path = Path(tempfile.mkdtemp(prefix=f"sw-{name}-", dir=place))
        self.user = user if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.path, self.user, self.user)

    def run(self, command: Sequence[str | Path]) -> None:
        subprocess.run(
            command, check=True, capture_output=True, user=self.user, group=self.user, cwd="/"
        )

    def start(self, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        log = (self.path / "log").open("ab")
        with log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self.user,
                group=self.user,
                cwd="/",
                start_new_session=True,
            )
        if self._kept:
            self._kept.processes.append(process)
        return process

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {log.read_text()[-2000:]}")
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"the server does not listen: {log.read_text()[-2000:]}")
