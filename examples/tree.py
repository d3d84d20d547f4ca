"""Draw a conversation tree with lines, as text. Pure: messages in, lines out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from sapwood import Message, ToolCallPart, ToolResultPart
from sapwood.model import Position

Children = dict[Position | None, list[Position]]
Row = tuple[str, Message]


def draw_tree(
    paths: Iterable[Sequence[Message]],
    *,
    notes: Mapping[str, str] | None = None,
    covered: Collection[Position] = (),
) -> list[str]:
    """Draw the tree that the paths make up; each path goes from the root to a leaf.

    `notes` are shown beside the messages with these ids, and a bar marks the covered positions.
    """
    children, messages = _gather(paths)
    rows: list[Row] = []
    starts = children.get(None, [])
    for number, start in enumerate(starts, 1):
        lead = "" if len(starts) == 1 else ("└─" if number == len(starts) else "├─")
        rest = "" if len(starts) == 1 else ("  " if number == len(starts) else "│ ")
        _draw(start, lead, rest, children, messages, rows)
    width = max((len(graph) for graph, _ in rows), default=0)
    return [
        _line(graph.ljust(width), message, (notes or {}).get(message.id, ""), covered)
        for graph, message in rows
    ]


def _gather(paths: Iterable[Sequence[Message]]) -> tuple[Children, dict[Position, Message]]:
    children: Children = {}
    messages: dict[Position, Message] = {}
    for path in paths:
        above = None
        for message in path:
            below = children.setdefault(above, [])
            if message.position not in below:
                below.append(message.position)
            messages[message.position] = message
            above = message.position
    return children, messages


def _draw(
    start: Position,
    lead: str,
    rest: str,
    children: Children,
    messages: Mapping[Position, Message],
    rows: list[Row],
) -> None:
    below = [start]
    while len(below) == 1:
        rows.append((f"{lead}●", messages[below[0]]))
        lead, below = rest, children.get(below[0], [])
    for child in below:
        turn, on = ("└─", "  ") if child == below[-1] else ("├─", "│ ")
        _draw(child, rest + turn, rest + on, children, messages, rows)


def _line(graph: str, message: Message, note: str, covered: Collection[Position]) -> str:
    bar = "┃" if message.position in covered else " "
    text = f"{bar} {graph}  {message.role:<9}  {brief(message)}"
    return f"{text:<72}  {note}".rstrip()


def brief(message: Message) -> str:
    """Say in a line what a message holds."""
    pieces = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            pieces.append(f"→ {part.name} {part.input}")
        elif isinstance(part, ToolResultPart):
            pieces.append(f"← {part.output}")
        else:
            pieces.append(getattr(part, "text", type(part).__name__))
    return " ".join(" ".join(pieces).split())
