"""Draw overlays beside a tree: a bar along the messages that each one covers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..model import Overlay, Position
from .tree_drawing import TreeDrawing, TreeRow

MOST_COLUMNS = 4


class DrawnOverlay(NamedTuple):
    """An overlay, and the messages under it that are drawn."""

    overlay: Overlay
    positions: frozenset[Position]


class TreeLine(NamedTuple):
    """A row of the tree, or the summary of an overlay above the first row that it covers."""

    row: TreeRow | None
    overlay: Overlay | None = None


def covers_of(
    tree: TreeDrawing,
    overlays: Sequence[Overlay],
    bottom: Position | None,
    below: Collection[Position],
) -> list[DrawnOverlay]:
    """Find what each overlay covers, among what is drawn; the widest first.

    `below` are ends that lie further down on the path than its last position drawn, `bottom`.
    """
    found = []
    for overlay in overlays:
        end = bottom if overlay.last in below else overlay.last
        positions = frozenset(_upwards(tree, end, overlay))
        if positions:
            found.append(DrawnOverlay(overlay, positions))
    return sorted(found, key=lambda cover: len(cover.positions), reverse=True)


def _upwards(tree: TreeDrawing, place: Position | None, overlay: Overlay) -> list[Position]:
    found = []
    while place is not None and place in tree.parents and place.depth >= overlay.first.depth:
        found.append(place)
        place = tree.parents[place]
    return found


def lines_of(rows: Iterable[TreeRow], covers: Sequence[DrawnOverlay]) -> list[TreeLine]:
    """Put a line with its summary above what each overlay covers."""
    waiting = list(covers)
    lines: list[TreeLine] = []
    for row in rows:
        place = row.message and row.message.position
        for cover in [cover for cover in waiting if place in cover.positions]:
            waiting.remove(cover)
            lines.append(TreeLine(None, cover.overlay))
        lines.append(TreeLine(row))
    return lines


def margins_of(lines: Sequence[TreeLine], covers: Sequence[DrawnOverlay]) -> list[str]:
    """Return the bars that stand before each line, a column for each overlay at a place."""
    index_of = {
        line.row.message.position: index
        for index, line in enumerate(lines)
        if line.row is not None and line.row.message is not None
    }
    spans = [_span(lines, cover, index_of) for cover in covers]
    columns = _columns(spans)
    grid = [[" "] * (max(columns, default=-1) + 1) for _ in lines]
    for cover, (first, last), column in zip(covers, spans, columns, strict=True):
        for index in range(first, last + 1):
            grid[index][column] = "╎"
        for place in cover.positions:
            grid[index_of[place]][column] = "┃"
        grid[first][column], grid[last][column] = "┏", "┗"
    return ["".join(bars) for bars in grid]


def _span(
    lines: Sequence[TreeLine], cover: DrawnOverlay, index_of: Mapping[Position, int]
) -> tuple[int, int]:
    covered = [index_of[place] for place in cover.positions]
    first = min(covered)
    while lines[first].overlay is not cover.overlay:
        first -= 1
    return first, max(covered)


def _columns(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each overlay the first column in which it meets no other, the last if all do."""
    columns: list[int] = []
    ends: list[list[tuple[int, int]]] = []
    for first, last in spans:
        column = next(
            (n for n, taken in enumerate(ends) if all(e < first or last < b for b, e in taken)),
            len(ends),
        )
        column = min(column, MOST_COLUMNS - 1)
        if column == len(ends):
            ends.append([])
        ends[column].append((first, last))
        columns.append(column)
    return columns
