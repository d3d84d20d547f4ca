"""MongoDB for tests: one that is given by its URL, or a FerretDB of our own.

Our own is started when it is first asked for, once in each process that runs tests, and is stopped
at the end. It speaks MongoDB's protocol, and keeps its data in SQLite files.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
from functools import cache
from pathlib import Path

from pymongo import MongoClient

from .process import Folder, free_port, wait_for_port

VARIABLE = "SAPWOOD_TEST_MONGODB_URL"
MISSING = f"there is no MongoDB and no FerretDB: run `make servers`, or set {VARIABLE}"
PROGRAM = Path(__file__).resolve().parents[2] / ".servers" / "ferretdb"


class FerretServer:
    """A server that can be stopped, killed and started again."""

    def __init__(self) -> None:
        if not PROGRAM.exists():
            raise FileNotFoundError(MISSING)
        self._folder = Folder("mongo", "root")
        self._data = self._folder.path / "data"
        self._data.mkdir()
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        command = [PROGRAM, f"127.0.0.1:{self.port}", self._data]
        self._process = self._folder.start(command)
        wait_for_port(self.port, self._process, self._folder.path / "log")

    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/"

    def kill(self) -> None:
        """Kill it, as the kernel would."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Let it end its connections and go."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._folder.remove()


@cache
def shared_url() -> str | None:
    """Give the server of this process of tests; None when none can be had."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    try:
        server = FerretServer()
    except FileNotFoundError:
        return None
    atexit.register(server.remove)
    return server.url()


def version() -> str:
    """Tell which server this is."""
    info = client().server_info()
    if "ferretdbVersion" in info:
        return f"FerretDB, which says it is MongoDB {info['version']}"
    return f"MongoDB {info['version']}"


def database() -> str:
    """Give a database that is this process's own."""
    return f"sapwood_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


def url_of_database(url: str) -> str:
    """Give a URL with this process's database in it."""
    address, mark, options = url.partition("?")
    scheme, slashes, rest = address.partition("://")
    return f"{scheme}{slashes}{rest.partition('/')[0]}/{database()}{mark}{options}"


@cache
def client() -> MongoClient[dict[str, object]]:
    made: MongoClient[dict[str, object]] = MongoClient(shared_url() or "", tz_aware=True)
    atexit.register(made.close)
    return made


def empty(prefix: str = "sapwood_") -> None:
    """Empty the collections of this process."""
    for name in ("records", "entries", "lookups"):
        client()[database()][f"{prefix}{name}"].delete_many({})
