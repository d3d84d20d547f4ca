"""What the terminal is told: a line for each row as it is measured, and the table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from comparison import Comparison
from page import cells_of, verdict

_HEAD = ("package", "durability", "its figure", "sapwood", "raw", "its to raw", "to raw", "ahead")


def line(row: Comparison) -> str:
    """Return a row in one line."""
    _, _, peer, ours, raw, _, _, ahead = cells_of(row.plain())
    if not row.can:
        return f"{row.package}, {row.work}: cannot"
    return f"{row.package}, {row.work}: {peer}, sapwood {ours}, raw {raw}: ahead {ahead}"


def table(rows: Sequence[Comparison]) -> str:
    """Set the rows as a table, in groups by work."""
    cells = [_HEAD, *(cells_of(row.plain()) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    parts = [_set(_HEAD, widths)]
    for work, of_work in groupby(rows, lambda row: row.work):
        group = [row.plain() for row in of_work]
        parts.append(f"\n{work}: {verdict(group)}")
        parts += [_set(cells_of(row), widths) for row in group]
    return "\n".join(parts)


def _set(cells: Sequence[str], widths: Sequence[int]) -> str:
    left = (cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True))
    right = (cell.rjust(width) for cell, width in zip(cells[2:-1], widths[2:-1], strict=True))
    return "  ".join((*left, *right, cells[-1])).rstrip()
