"""Long output in a terminal, a screen at a time."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from subprocess import Popen

    from .settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


class PagedStream:
    """Stands in for standard output: what does not fit on the screen goes to a pager."""

    def __init__(self, terminal: TextIO, command: list[str]) -> None:
        self.encoding = terminal.encoding
        self.notes: list[str] = []
        """What belongs on standard error, after the output."""
        self._terminal = terminal
        self._command = command
        self._room = shutil.get_terminal_size().lines - 1
        self._held: list[str] = []
        self._pager: Popen[str] | None = None

    def isatty(self) -> bool:
        """Whether somebody looks at it: a pager is only used in a terminal."""
        return True

    def fileno(self) -> int:
        """Return the terminal's number."""
        return self._terminal.fileno()

    def flush(self) -> None:
        """Write nothing yet: it is not known whether it fits."""

    def write(self, text: str) -> int:
        """Hold text back while it fits on the screen."""
        if self._pager is None:
            self._held.append(text)
            self._room -= text.count("\n")
            if self._room < 0:
                self._begin()
        else:
            _stdin_of(self._pager).write(text)
        return len(text)

    def _begin(self) -> None:
        import subprocess

        # Colours are shown, and what was read stays on the screen.
        env = {"LESS": "FRX", **os.environ}
        self._pager = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            text=True,
            encoding=self.encoding,
            errors="backslashreplace",
            env=env,
        )
        _stdin_of(self._pager).write("".join(self._held))

    def finish(self) -> None:
        """Write what was held back, or wait until it was read."""
        if self._pager is None:
            self._terminal.write("".join(self._held))
        else:
            with contextlib.suppress(BrokenPipeError):
                _stdin_of(self._pager).close()
            while True:
                # Ctrl-C is the pager's while it is open.
                with contextlib.suppress(KeyboardInterrupt):
                    self._pager.wait()
                    break
        self._terminal.flush()
        for text in self.notes:
            sys.stderr.write(f"{text}\n")


def _stdin_of(pager: Popen[str]) -> Any:
    return pager.stdin


@contextmanager
def paging(is_wanted: bool) -> Iterator[None]:
    """Show what is written meanwhile a screen at a time, where somebody looks at it."""
    terminal, command = sys.stdout, _command()
    if not is_wanted or not command or not terminal.isatty() or not sys.stdin.isatty():
        yield
        return
    stream = PagedStream(terminal, command)
    sys.stdout = stream
    try:
        with contextlib.suppress(BrokenPipeError):
            # Who leaves the pager has read enough.
            yield
    finally:
        sys.stdout = terminal
        stream.finish()


def _command() -> list[str]:
    """Return the pager that the environment names, or else `less`; nothing where there is none."""
    import shlex

    names = ("SAPWOOD_PAGER", "PAGER")
    given = next((os.environ[name] for name in names if name in os.environ), "less")
    words = shlex.split(given)
    is_there = bool(words) and words != ["cat"] and os.environ.get("TERM") != "dumb"
    return words if is_there and shutil.which(words[0]) else []


def paged(function: F) -> F:
    """Let a command's output be read a screen at a time."""

    @wraps(function)
    def run(settings: Settings, *args: Any, **options: Any) -> Any:
        with paging(settings.has_pager):
            return function(settings, *args, **options)

    return run  # type: ignore[return-value]
