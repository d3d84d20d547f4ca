"""A table of sessions that fits its terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import SessionRecord
from .describe import local
from .output import Output
from .text import clean, pad, shorten, width_of

TITLES = ("SESSION", "TITLE", "MESSAGES", "TOKENS", "ACTIVE")
GAP = "  "
LEAST_NAME = 8
LEAST_TITLE = 6

Row = tuple[str, ...]


class Listing:
    """Rows of sessions under one heading; the first page decides about the widths."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._widths: list[int] = []
        self.is_empty = True

    def write(self, records: Sequence[SessionRecord]) -> None:
        """Write a page of sessions."""
        rows = [_row(record) for record in records]
        if not rows:
            return
        if self.is_empty:
            self.is_empty = False
            self._widths = _fitting(rows, self._output.width)
            self._write_row(TITLES, bold=True)
        for row in rows:
            self._write_row(row)

    def _write_row(self, row: Row, bold: bool = False) -> None:
        is_bounded = self._output.width is not None
        cells = []
        for index, (text, width) in enumerate(zip(row, self._widths, strict=True)):
            if not width:
                continue
            text = shorten(text, width) if is_bounded else text
            is_number = index in (2, 3)
            cells.append(text.rjust(width) if is_number else pad(text, width))
        self._output.line(self._output.style(GAP.join(cells).rstrip(), bold=bold or None))


def _row(record: SessionRecord) -> Row:
    return (
        clean(record.id),
        clean(record.title or ""),
        str(record.messages),
        str(record.context_tokens),
        local(record.active_at),
    )


def _fitting(rows: Sequence[Row], width: int | None) -> list[int]:
    """Give the columns' widths; in a narrow terminal, columns go from the right, the name last."""
    widths = [
        max(width_of(row[column]) for row in (TITLES, *rows)) for column in range(len(TITLES))
    ]
    if not any(row[1] for row in rows):
        widths[1] = 0
    if width is None:
        return widths
    for column, least in ((1, LEAST_TITLE), (0, LEAST_NAME)):
        excess = _total(widths) - width
        if excess > 0 and widths[column]:
            widths[column] = max(least, widths[column] - excess)
    for column in (4, 3, 1, 2):
        if _total(widths) > width:
            widths[column] = 0
    widths[0] = min(max(widths[0], 0), width)
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(GAP) * (len(shown) - 1)
