"""Where answers go: to a terminal with colours and a width, or plain into a pipe."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any

import click

from .text import clean, clean_block, shorten, wrap

# JSON may carry these as they are, and a terminal would obey them.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_ASCII = str.maketrans({"●": "*", "├": "|", "─": "-", "│": "|", "⋮": ":", "┏": "/", "┃": "|"})
_ASCII |= str.maketrans({"┗": "\\", "╎": ":", "◀": "<", "…": "~", "→": ">", "←": "<", "·": "-"})


class Output:
    """Standard output: what it is decides about width and colours, and the user about JSON."""

    def __init__(self, *, is_json: bool = False) -> None:
        self.is_json = is_json
        self.is_terminal = sys.stdout.isatty()
        self.width = shutil.get_terminal_size().columns if self.is_terminal else None
        wants_colours = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self.has_colours = self.is_terminal and wants_colours
        self.is_ascii = not _can_say("●┃…", sys.stdout.encoding)

    def answer(self, value: Any, *lines: str) -> None:
        """Write a value where JSON is wanted, and lines of text elsewhere."""
        if self.is_json:
            self.json(value)
            return
        for line in lines:
            self.line(line)

    def line(self, text: str = "") -> None:
        """Write a line; trailing spaces are of no use to anybody."""
        if self.is_ascii:
            text = text.translate(_ASCII)
        sys.stdout.write(text.rstrip() + "\n")

    def text(self, text: str, indent: str = "") -> None:
        """Write a text in full, wrapped to the terminal's width."""
        width = None if self.width is None else self.width - len(indent)
        for line in clean_block(text).split("\n"):
            for piece in wrap(line, width):
                self.line(f"{indent}{piece}")

    def passage(self, head: str, text: str, colour: str) -> None:
        """Write a heading, and a text under it in full."""
        self.line(self.style(shorten(head, self.width), fg=colour, bold=True))
        self.text(text, indent="  ")
        self.line()

    def style(self, text: str, **style: Any) -> str:
        """Colour text, in a terminal only."""
        return click.style(text, **style) if self.has_colours and text else text

    def json(self, value: Any) -> None:
        """Write a JSON value: for a reader in a terminal, on one line in a pipe."""
        sys.stdout.write(encode_json(value, indent=2 if self.is_terminal else 0) + "\n")


def note(text: str) -> None:
    """Write to the user what is no part of the answer."""
    # The answer so far comes first, also where both go to the same place.
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")


def write_notes(texts: Iterable[str]) -> None:
    """Write what could not be carried over, or is left behind."""
    for text in texts:
        note(f"note: {clean(text)}")


def write_json_line(value: Any) -> None:
    """Write a JSON value on a line of its own, which is read at once."""
    sys.stdout.write(encode_json(value) + "\n")
    sys.stdout.flush()


def encode_json(value: Any, indent: int = 0) -> str:
    """Encode as JSON that no terminal obeys."""
    import msgspec

    data = msgspec.json.encode(value)
    if indent:
        data = msgspec.json.format(data, indent=indent)
    return escape_obeyed(data.decode())


def escape_obeyed(text: str) -> str:
    """Escape, in JSON, the characters that a terminal would obey."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _can_say(text: str, encoding: str | None) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
