"""Count what a session's calls enter of the package on their way to SQLite and back.

python tools/house/walks.py --base HEAD~10
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

from table import Rows, options_of, show

HERE = "--here"
CALLS = {"append": ("user", "It came today."), "history": (), "prepare": (), "compact": ()}
WITHIN = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Parts of the function around them, which some Pythons make functions of."""
TIMES = 3
"""The shortest walk counts: one may have to wait for a thread in the background."""


class Walk:
    """Counts what the calling thread enters of a package."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._entered: set[tuple[str, str]] = set()
        self._depth = 0

    def of(self, call: Callable[[], object]) -> tuple[int, int, int]:
        """Return how many files and functions a call enters, and how deep."""
        sys.setprofile(self._note)
        try:
            call()
        finally:
            sys.setprofile(None)
        return len({file for file, _ in self._entered}), len(self._entered), self._depth

    def _note(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(self._package):
            stack = [it for it in _stack(frame) if it.co_filename.startswith(self._package)]
            # What is loaded by a first call is no part of it.
            if all(it.co_flags & inspect.CO_OPTIMIZED for it in stack):
                functions = [it for it in stack if it.co_name not in WITHIN]
                self._entered.update((it.co_filename, it.co_qualname) for it in functions)
                self._depth = max(self._depth, len(functions))


def _stack(frame: FrameType | None) -> Iterator[CodeType]:
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def walks_here(file: Path) -> dict[str, tuple[int, ...]]:
    """Return the walks on the package that this Python imports."""
    import sapwood

    package = str(Path(sapwood.__file__).parent)
    found: dict[str, list[tuple[int, ...]]] = {name: [] for name in CALLS}
    with sapwood.open(f"sqlite:///{file}", owner="ada") as sessions:
        for n in range(TIMES):
            chat = sessions.session(f"support {n}")
            for _ in range(40):
                chat.append("user", "Where is my order? " * 500)
            chat.prepare()  # what is made by a first call is no part of it either
            for name, arguments in CALLS.items():
                found[name].append(Walk(package).of(partial(getattr(chat, name), *arguments)))
            assert len(chat.history().entries) < 40, "there was too little to compact"
    ours = [it for it in sapwood.Session.__mro__ if it.__module__.startswith("sapwood")]
    return {**{name: min(each) for name, each in found.items()}, "Session's classes": (len(ours),)}


def walks(src: Path) -> Rows:
    """Return the walks on the package in a folder: files, functions and depth."""
    env = {**os.environ, "PYTHONPATH": str(src)}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, HERE, f"{folder}/walks.db"]
        told = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout
    found: dict[str, list[int]] = json.loads(told)
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == [HERE]:
        print(json.dumps(walks_here(Path(sys.argv[2]))))
    else:
        show(options_of(__doc__).parse_args(), ("walk", "files", "functions", "depth"), walks)
