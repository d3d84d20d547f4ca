"""Entries as text that a model can read, every message with its role and nothing left unsaid."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import (
    Entry,
    FilePart,
    OtherPart,
    Part,
    ReasoningPart,
    Summary,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from .cuts import SHORTEST, cut_middle, shown_json


def render_transcript(
    entries: Sequence[Entry], *, summaries: Sequence[str], value_chars: int, max_chars: int
) -> str:
    """Write entries down, one block for each message, in about so many characters.

    `summaries` is what stands in the place of each summary, and is never cut. When the whole is
    too long, the longest messages lose their middle, but none is left out.
    """
    names = tool_names(entries)
    blocks: list[tuple[str, str | None]] = []
    texts = iter(summaries)
    for entry in entries:
        if isinstance(entry, Summary):
            blocks.append((next(texts), None))
        for message in entry.pinned if isinstance(entry, Summary) else [entry]:
            head = f"[{message.role}, pinned]" if message is not entry else f"[{message.role}]"
            lines = [_line(part, names, value_chars) for part in message.parts]
            blocks.append((head, "\n".join(lines) or "(empty)"))
    fixed = sum(len(head) + 3 for head, _ in blocks)
    limit = _fair_limit([len(body) for _, body in blocks if body is not None], max_chars - fixed)
    return "\n\n".join(
        head if body is None else f"{head}\n{cut_middle(body, limit)}" for head, body in blocks
    )


def _fair_limit(lengths: Sequence[int], room: int) -> int:
    """Find the length to which each may go, so that all together fit; short ones are spared."""
    rest = sorted(lengths)
    while rest:
        share = room // len(rest)
        if rest[-1] <= share:
            return max(rest[-1], SHORTEST)
        if rest[0] > share:
            return max(share, SHORTEST)
        # What fits its share leaves the others more.
        fitting = [length for length in rest if length <= share]
        room -= sum(fitting)
        rest = rest[len(fitting) :]
    return SHORTEST


def tool_names(entries: Sequence[Entry]) -> dict[int, str]:
    """Name the tool of every result, by the identity of its part: that of the nearest call."""
    names: dict[int, str] = {}
    called: dict[str, str] = {}
    for entry in entries:
        for message in entry.pinned if isinstance(entry, Summary) else [entry]:
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    called[part.call_id] = part.name
                elif isinstance(part, ToolResultPart) and part.call_id in called:
                    names[id(part)] = called[part.call_id]
    return names


def _line(part: Part, names: dict[int, str], limit: int) -> str:
    match part:
        case TextPart(text=text):
            return text
        case ReasoningPart(text=text):
            return f"(reasoning, {len(text)} characters, left out)"
        case ToolCallPart(name=name, input=value):
            return f"Calls the tool {name}: {cut_middle(shown_json(value), limit)}"
        case ToolResultPart(call_id=call_id, output=value, is_error=is_error):
            tool = names.get(id(part)) or f"call {call_id}"
            what = "Error from" if is_error else "Result of"
            return f"{what} {tool}: {cut_middle(shown_json(value), limit)}"
        case FilePart():
            return f"File: {_file(part)}"
        case OtherPart(value=value):
            return cut_middle(shown_json(value), limit)


def _file(part: FilePart) -> str:
    name = part.name or part.uri or "without a name"
    size = "" if part.data is None else f", {len(part.data)} bytes"
    return f"{cut_middle(name, 200)} ({part.media_type}{size})"
