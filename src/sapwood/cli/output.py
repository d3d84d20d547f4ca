"""Where answers go: to a terminal with colours and a width, or plain into a pipe."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Any

import click

# JSON may carry these as they are, and a terminal would obey them.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_ASCII = str.maketrans({"●": "*", "├": "|", "─": "-", "│": "|", "⋮": ":", "┏": "/", "┃": "|"})
_ASCII |= str.maketrans({"┗": "\\", "╎": ":", "◀": "<", "…": "~", "→": ">", "←": "<", "·": "-"})


class Output:
    """Standard output: what it is decides about width and colours."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self.width = shutil.get_terminal_size().columns if self.is_terminal else None
        self.has_colours = self.is_terminal and _wants_colours()
        self.is_ascii = not _can_say("●┃…", sys.stdout.encoding)

    def line(self, text: str = "") -> None:
        """Write a line; trailing spaces are of no use to anybody."""
        if self.is_ascii:
            text = text.translate(_ASCII)
        sys.stdout.write(text.rstrip() + "\n")

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


def _wants_colours() -> bool:
    return "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _can_say(text: str, encoding: str | None) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
