"""A table that fits its terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .output import Output
from .text import clean, pad, shorten, width_of

GAP = "  "

TableRow = Sequence[str]


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
        self._output.line(self._output.style(GAP.join(cells).rstrip(), bold=bold or None))


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
    return sum(shown) + len(GAP) * (len(shown) - 1)
