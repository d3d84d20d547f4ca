"""Draw a conversation tree as lines of text, and overlays beside it. Pure: messages in, lines out.

The path that is shown stays at the left margin; what branches off it stands indented between the
message that it follows and the path's next one, so that many branches do not run off to the right.
Beside the tree, a bar runs along the messages that each overlay covers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from ..model import Message, Overlay, Position

MOST_LEVELS = 8
MOST_COLUMNS = 4


class Chain(NamedTuple):
    """A run of messages without a branch; `rest` says what is not shown of it."""

    messages: list[Message]
    rest: str = ""


class TreeRow(NamedTuple):
    """A line of the drawing: a message, or without one a note."""

    graph: str
    message: Message | None
    note: str = ""


class _PlacedChain(NamedTuple):
    """A chain, and what stands before its first message and before the others."""

    chain: Chain
    lead: str
    rest: str


class TreeDrawing:
    """The part of a tree that is drawn: a path, and the branches that leave it."""

    def __init__(self, path: Sequence[Message], beyond: Position | None = None) -> None:
        self._path = Chain(list(path))
        self._beyond = beyond
        self._sides: dict[Position | None, list[Chain]] = {}
        self.messages: dict[Position, Message] = {m.position: m for m in path}
        self.parents: dict[Position, Position | None] = {}
        self._link(None, path)

    def add(
        self,
        path: Sequence[Message],
        *,
        is_whole: bool,
        most: int | None,
        has_more: bool,
        leaf: str,
    ) -> bool:
        """Add a branch by its path; return whether it leaves the drawing at a place that is drawn.

        `is_whole` says that the path begins at the root, and `has_more` that it goes on below.
        """
        shared = len([*takewhile(lambda it: it.position in self.messages, path)])
        if not shared and not is_whole:
            return False
        new = path[shared:]
        if new and new[0].position == self._beyond:
            # It leaves the path further down than it is drawn.
            return False
        shown = new if most is None else new[:most]
        if shown:
            above = path[shared - 1].position if shared else None
            rest = f"goes on to {leaf}" if has_more or len(shown) < len(new) else ""
            self._sides.setdefault(above, []).append(Chain(list(shown), rest))
            self.messages.update((message.position, message) for message in shown)
            self._link(above, shown)
        return True

    def _link(self, above: Position | None, messages: Sequence[Message]) -> None:
        for message in messages:
            self.parents[message.position] = above
            above = message.position

    def rows(self) -> Iterator[TreeRow]:
        """Yield the lines, from the top."""
        # A stack of our own: branches may nest deeper than Python's allows.
        stack = [iter([*self._sides_of(None, ""), _PlacedChain(self._path, "", "")])]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, TreeRow):
                yield item
            else:
                stack.append(self._items(item))

    def _items(self, placed: _PlacedChain) -> Iterator[TreeRow | _PlacedChain]:
        chain, lead, rest = placed
        for message in chain.messages:
            yield TreeRow(f"{_capped(lead)}●", message)
            lead = rest
            yield from self._sides_of(message.position, rest)
        if chain.rest:
            yield TreeRow(f"{_capped(rest)}⋮", None, chain.rest)

    def _sides_of(self, above: Position | None, indent: str) -> list[TreeRow | _PlacedChain]:
        return [
            _PlacedChain(side, f"{indent}├─", f"{indent}│ ") for side in self._sides.get(above, [])
        ]


def _capped(indent: str) -> str:
    """Keep a deep indentation from taking the whole line."""
    return indent if len(indent) <= 2 * MOST_LEVELS else "… " + indent[-2 * MOST_LEVELS :]


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
