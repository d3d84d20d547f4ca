"""MongoDB for tests: one that is given by its URL, or a FerretDB of our own.

Our own is started when it is first asked for, once in each run of tests, and is stopped
at the end. It speaks MongoDB's protocol, and keeps its data in SQLite files.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from . import running, whole_run
from .names import own
from .process import Folder, free_port, wait_for_port
from .seen import note_once
from .url import with_database

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
        note_once(FerretServer, lambda: version_of(self.url()))

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
    """Give the server of this run of tests; None when none can be had."""
    given = running.given(VARIABLE, "mongodb")
    if given:
        atexit.register(forget, given)
        return given
    return whole_run.url_of("mongodb")


def version() -> str:
    """Tell which server this is."""
    return version_of(shared_url() or "")


def version_of(url: str) -> str:
    with MongoClient[dict[str, object]](url) as asked:
        info = asked.server_info()
    theirs = f"MongoDB {info['version']}"
    ferret = info.get("ferretdbVersion")
    if ferret == "unknown":
        # It says so where it was built into a program, as ours is.
        ferret = _built_from() or ferret
    return f"FerretDB {ferret.lstrip('v')}, which says it is {theirs}" if ferret else theirs


def _built_from() -> str | None:
    """Read in our program which version Go built it from."""
    if not PROGRAM.exists():
        return None
    with PROGRAM.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as program:
        found = re.search(rb"\tgithub\.com/FerretDB/FerretDB\tv([0-9.]+)", program)
        return found[1].decode() if found else None


def database() -> str:
    """Give a database that is this process's own."""
    return own()


def url_of_database(url: str) -> str:
    """Give a URL with this process's database in it."""
    return with_database(url, database())


@cache
def client() -> MongoClient[dict[str, object]]:
    made: MongoClient[dict[str, object]] = MongoClient(shared_url() or "", tz_aware=True)
    atexit.register(made.close)
    return made


def empty(prefix: str = "sapwood_") -> None:
    """Empty the collections of this process."""
    for name in ("records", "entries", "lookups"):
        client()[database()][f"{prefix}{name}"].delete_many({})


def records() -> Iterator[tuple[Any, Any]]:
    """Give the names and contents of the log's records."""
    for found in client()[database()]["sapwood_records"].find({}):
        yield found["_id"], found["data"]


def delete_record(name: str) -> None:
    """Remove a record behind the store's back."""
    client()[database()]["sapwood_records"].delete_one({"_id": name})


def forget(url: str) -> None:
    """Remove all that this process put on a server."""
    with MongoClient[dict[str, object]](url) as raw:
        raw.drop_database(database())
