"""One server of each kind for a whole run of tests, however many processes run them.

The process that first asks for a server starts it; the one that began the run stops them all, by
their ids. PostgreSQL is not among them: there an open transaction of one test holds the change feed
back for all others, so each process of tests has its own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from importlib import import_module
from pathlib import Path

from . import running

VARIABLE = "SAPWOOD_TEST_RUN"


def begin() -> None:
    """Name a folder for the servers of this run, to the processes that it starts, too."""
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="sw-run-")


def end() -> None:
    """Stop all that was started in this run, and remove its folder."""
    folder = Path(os.environ.pop(VARIABLE))
    for of_one_kind in folder.iterdir():
        for server in running.read(of_one_kind).values():
            running.stop(server)
    shutil.rmtree(folder)


def url_of(name: str) -> str | None:
    """Return the URL of this run's server of a kind; None when none can be had."""
    folder = Path(os.environ[VARIABLE]) / name
    folder.mkdir(mode=0o755, exist_ok=True)
    with (folder / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        there = running.read(folder)
        if name not in there:
            # It knows how to start all kinds, which ask this module for theirs.
            starting = import_module("servers.starting")
            try:
                there[name] = starting.start(name, {}, folder)
            except FileNotFoundError:
                return None
            running.write(there, folder)
        return there[name].url
