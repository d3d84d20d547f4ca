"""The command line: whole commands, from the start of Python to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from measure import Call, take_turns
from messages import messages
from row import Row, slower
from search_rows import RARE, corpus
from world import OWNER, World, fill, open_store

from sapwood.model import NewSession

SESSIONS = 10_000
LONG = 10_000
LONG_SESSION = "long"
RUNS = 3

_IMPORTS = "import click, rich.table, apsw"
_SAPWOOD = "from sapwood.cli import main; main()"


def commands(world: World) -> Iterator[Row]:
    """Run commands on 10,000 sessions and 10,000 messages, against importing what they need."""
    store = ["--store", f"sqlite:///{_large(world)}", "--owner", OWNER]
    raw = _python(world, "-c", _IMPORTS)
    for name, args in {
        "ls of 10,000 sessions": ["ls"],
        "search": ["search", RARE],
        "show of 10,000 messages": ["show", LONG_SESSION],
    }.items():
        turns = take_turns(_python(world, "-c", _SAPWOOD, *store, *args), raw, world.times(RUNS))
        yield slower(f"sapwood {name}", turns, 3)


def _large(world: World) -> Path:
    def build(world: World, path: Path) -> None:
        with open_store(path, "normal") as store:
            for number, message in enumerate(messages(world.size(SESSIONS))):
                store.create_session(OWNER, NewSession(id=f"s{number}", title=f"About {number}"))
                store.append(OWNER, f"s{number}", [message])
            store.create_session(OWNER, NewSession(id=LONG_SESSION))
            fill(store, LONG_SESSION, corpus(world.size(LONG)))
            store.finish_deletions()

    return world.once("commands", build)


def _python(world: World, *args: str) -> Call:
    """Return a call that runs Python, with its modules compiled as in an installed package."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(world.folder / "pycache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command: Sequence[str] = [sys.executable, *args]

    def run() -> None:
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)

    run()
    return run
