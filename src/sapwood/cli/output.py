"""Answers to a terminal or a pipe: lines, tables, progress, and text that is safe to print."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from ..model.short_id import short
from .pager import PagedStream

AdvanceBar = Callable[[int, int], None]
"""Takes how much is done, and of how much; 0 of an unknown amount."""
TableRow = Sequence[str]

COLUMN_GAP = "  "
ELLIPSIS = "…"
# A single line never needs more: what is longer is not cleaned to its end only to be cut.
LONGEST_LINE = 4_000

_SPACES = dict.fromkeys(map(ord, "\t\n\r\x0b\x0c\x85\u2028\u2029"), " ")
# An escape sequence in a message must not reach the terminal, nor may text run backwards.
_CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: "\u2421",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
}
_BIDI = {
    code: f"\\u{code:04x}"
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_LINE = {**_CONTROLS, **_BIDI, **_SPACES}
_BLOCK = {**_CONTROLS, **_BIDI, 0x0D: None, 0x09: "    ", 0x0A: "\n", 0x2028: "\n", 0x2029: "\n"}
# Latin letters, and what trees are drawn with: one cell each, and no table has to be loaded.
_is_narrow = re.compile(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u2026\u2190-\u2193\u22ee\u2400-\u2421\u2500-\u25cf]*"
).fullmatch

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
        self.has_colours = _wants_colours(self.is_terminal)
        self.is_ascii = not _can_say("●┃…", sys.stdout.encoding)

    def id(self, id: str) -> str:
        """Write an id: for people its beginning, and for programs all of it."""
        return clean(short(id) if self.is_terminal else id)

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
        """Colour text, where colours are wanted."""
        return click.style(text, **style) if self.has_colours and text else text

    def json(self, value: Any) -> None:
        """Write a JSON value: for a reader in a terminal, on one line in a pipe."""
        sys.stdout.write(encode_json(value, indent=2 if self.is_terminal else 0) + "\n")


def _wants_colours(is_terminal: bool) -> bool:
    """Whether to colour text: as the environment says, or else in a terminal that can."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


def note(text: str) -> None:
    """Write to the user what is no part of the answer."""
    if isinstance(sys.stdout, PagedStream):
        sys.stdout.notes.append(text)
        return
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


class Column(NamedTuple):
    """A column, and what becomes of it where there is little room.

    One with a `least` width is cut down to it, the last such column first; those with a `goes` are
    left out after that, the lowest number first.
    """

    title: str
    is_number: bool = False
    least: int | None = None
    goes: int | None = None


class Table:
    """Rows under one heading; the rows that are written first decide about the widths.

    A column in which none of them has anything is not shown.
    """

    def __init__(self, output: Output, columns: Sequence[Column]) -> None:
        self._output = output
        self._columns = columns
        self._widths: list[int] = []
        self.is_empty = True

    def write(self, rows: Sequence[TableRow]) -> None:
        """Write some rows, and before the first of them the heading."""
        if not rows:
            return
        rows = [[clean(cell) for cell in row] for row in rows]
        if self.is_empty:
            self.is_empty = False
            self._widths = _fitting(self._columns, rows, self._output.width)
            self._write_row([column.title for column in self._columns], bold=True)
        for row in rows:
            self._write_row(row)

    def _write_row(self, row: TableRow, bold: bool = False) -> None:
        is_bounded = self._output.width is not None
        cells = []
        for text, width, column in zip(row, self._widths, self._columns, strict=True):
            if not width:
                continue
            text = shorten(text, width) if is_bounded else text
            cells.append(text.rjust(width) if column.is_number else pad(text, width))
        self._output.line(self._output.style(COLUMN_GAP.join(cells).rstrip(), bold=bold or None))


def _fitting(columns: Sequence[Column], rows: Sequence[TableRow], width: int | None) -> list[int]:
    """Return the columns' widths; 0 for one that is left out."""
    widths = [_natural(column, [row[at] for row in rows]) for at, column in enumerate(columns)]
    if width is None:
        return widths
    for at, column in reversed(list(enumerate(columns))):
        excess = _total(widths) - width
        if excess > 0 and widths[at] and column.least is not None:
            widths[at] = min(widths[at], max(column.least, widths[at] - excess))
    leaving = [(column.goes, at) for at, column in enumerate(columns) if column.goes is not None]
    for _, at in sorted(leaving):
        if _total(widths) > width:
            widths[at] = 0
    widths[0] = min(widths[0], width)
    return widths


def _natural(column: Column, cells: Sequence[str]) -> int:
    widest = max(width_of(cell) for cell in cells)
    return max(widest, width_of(column.title)) if widest else 0


def _total(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(COLUMN_GAP) * (len(shown) - 1)


@contextmanager
def progress_bar(what: str, *, unit: str, is_wanted: bool = True) -> Iterator[AdvanceBar]:
    """Show how far the work has come."""
    if not is_wanted or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None, figures="")

        def advance(done: int, total: int) -> None:
            figures = f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}"
            bar.update(task, completed=done, total=total or None, figures=figures)

        yield advance


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something is being waited for."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def clean(text: str) -> str:
    """Make text into one line, with every control character shown and none carried out."""
    return " ".join(clean_line(text).split())


def clean_line(text: str) -> str:
    """Make text into one line as `clean` does, and keep its spaces."""
    return text[:LONGEST_LINE].translate(_LINE)


def clean_block(text: str) -> str:
    """Make text safe to print, and keep its lines."""
    return text.translate(_BLOCK)


def width_of(text: str) -> int:
    """Count the cells that text takes; East Asian characters and most emoji take two."""
    if _is_narrow(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, width: int | None) -> str:
    """Cut text to a number of cells, and show that it was cut."""
    if width is None or width_of(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    if _is_narrow(text):
        return text[: width - 1].rstrip() + ELLIPSIS
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def wrap(text: str, width: int | None) -> Iterator[str]:
    """Break a line between words, or where a word is too long in it, to a number of cells."""
    while width is not None and width_of(text) > max(width, 2):
        piece = _beginning(text, max(width, 2))
        at = len(piece) if text[len(piece)] == " " else piece.rfind(" ")
        # Spaces that a line begins with are no place to break it.
        if at <= 0 or not piece[:at].strip():
            at = len(piece)
        yield text[:at]
        text = text[at:].removeprefix(" ")
    yield text


def _beginning(text: str, width: int) -> str:
    if _is_narrow(text, 0, width):
        return text[:width]
    from rich.cells import chop_cells

    # A few marks without a width of their own may stand on each character.
    return chop_cells(text[: 8 * width], width)[0] or text[0]


def pad(text: str, width: int) -> str:
    """Fill text up with spaces to a number of cells."""
    return text + " " * max(0, width - width_of(text))
