"""Draw a conversation tree as rows of text. Pure: messages in, rows out.

The path that is shown stays at the left margin; what branches off it stands indented between the
message that it follows and the path's next one, so that many branches do not run off to the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..model import Message, Position

MOST_LEVELS = 8


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
        shared = 0
        while shared < len(path) and path[shared].position in self.messages:
            shared += 1
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
