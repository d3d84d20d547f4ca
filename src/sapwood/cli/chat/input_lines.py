"""What the user writes, line by line, from a terminal or a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import NamedTuple

PROMPT = "> "
GOES_ON = ". "
FENCE = '"""'


class InputLine(NamedTuple):
    """What was written: a message, or a command with its slash."""

    text: str
    is_command: bool


class InputLines:
    """Reads messages; one that begins with three quotes goes on to the line that ends with them."""

    def __init__(self, *, has_prompt: bool) -> None:
        self.is_terminal = sys.stdin.isatty()
        self._has_prompt = has_prompt and self.is_terminal
        self._is_edited = self._has_prompt and sys.stdout.isatty()
        with contextlib.suppress(AttributeError):
            # A byte that is no text must not end the conversation.
            sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
        if self._is_edited:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - input() edits lines with it

    def next(self) -> InputLine | None:
        """Return what is written next; None when there is no more."""
        line = self._line(PROMPT)
        if line is None or not line.lstrip().startswith(FENCE):
            return line if line is None else _plain(line)
        text = line.lstrip().removeprefix(FENCE)
        while not text.rstrip().endswith(FENCE):
            more = self._line(GOES_ON)
            if more is None:
                # The end of a pipe ends what was begun, too.
                return InputLine(text.strip("\n"), is_command=False)
            text += f"\n{more}"
        return InputLine(text.rstrip().removesuffix(FENCE).strip("\n"), is_command=False)

    def _line(self, prompt: str) -> str | None:
        sys.stdout.flush()
        if self._is_edited:
            try:
                return input(prompt)
            except (EOFError, KeyboardInterrupt) as end:
                sys.stdout.write("\n")
                if isinstance(end, EOFError):
                    return None
                raise
        if self._has_prompt:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None


def _plain(line: str) -> InputLine:
    if line.startswith("//"):
        return InputLine(line[1:].rstrip(), is_command=False)
    return InputLine(line.rstrip(), is_command=line.startswith("/"))
