"""Install the servers that tests run against, and start one of each; they run until stopped.

    python tools/servers/run.py                  install what is missing, start what does not run
    python tools/servers/run.py --install-only   start nothing
    python tools/servers/run.py --start-only     install nothing
    python tools/servers/run.py --check          only say what is installed
    python tools/servers/run.py --stop           stop them by their ids, and remove their data

Each runs on a loopback port, with its data and its log in the folder `.servers/running`. The file
`.servers/running.json` says where, and with what ids. They do not wait for the disk: what is on
them is for trying things out. Needs `tests` on the path, whose way of starting servers this is.
"""

from __future__ import annotations

import argparse
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import install
from servers import running
from servers.running import Server
from servers.starting import KINDS, start

CANNOT = (OSError, RuntimeError, subprocess.CalledProcessError)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--install-only", action="store_true", help="start nothing")
    parser.add_argument("--start-only", action="store_true", help="install nothing")
    parser.add_argument("--check", action="store_true", help="only say what is installed")
    parser.add_argument("--stop", action="store_true", help="stop what was started")
    parser.add_argument("--only", default=",".join(KINDS), help="start these: postgres,redis,...")
    parser.add_argument("--folder", type=Path, default=running.FOLDER, help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def start_all(names: list[str], folder: Path) -> bool:
    """Start those that do not run; return whether all run now."""
    known = running.read(folder)
    there = {name: it for name, it in known.items() if it.is_running()}
    for name in {*known} - {*there}:
        running.stop(known[name])
    for name in names:
        if name in there:
            show(name, there[name], "was running")
            continue
        try:
            there[name] = start(name, there, folder)
        except CANNOT as error:
            print(f"{name:<14} was not started: {error}", flush=True)
            continue
        running.write(there, folder)
        show(name, there[name], "started")
    running.write(there, folder)
    return {*names} <= {*there}


def show(name: str, server: Server, what: str) -> None:
    print(f"{name:<14} {what:<12} {server.version:<50} {server.url}", flush=True)


def stop_all(folder: Path) -> None:
    known = running.read(folder)
    if not known:
        print("no servers were started")
    for name in reversed([*known]):
        was = "was stopped" if known[name].is_running() else "did not run any more"
        running.stop(known.pop(name))
        running.write(known, folder)
        print(f"{name:<14} {was}", flush=True)


def main() -> int:
    given = arguments()
    if given.stop:
        with one_at_a_time(given.folder):
            stop_all(given.folder)
        return 0
    names = given.only.split(",")
    if unknown := {*names} - {*KINDS}:
        sys.exit(f"these are no servers: {', '.join(sorted(unknown))}")
    lacking = install.main(check=given.check or given.start_only)
    if given.check or given.install_only:
        return lacking
    print()
    with one_at_a_time(given.folder):
        started = start_all(names, given.folder)
    print("\n`make test` uses them; `make servers-stop` stops them and removes their data.")
    return lacking or not started


if __name__ == "__main__":
    sys.exit(main())
