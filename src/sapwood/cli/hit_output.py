"""What a search found, as JSON and as lines of text."""

from __future__ import annotations

from typing import Any

from ..model import Hits
from .output import Output, clean, clean_line, shorten, width_of
from .records import fields_of, iso, local, position_json
from .short_ids import short


def hits_json(found: Hits) -> dict[str, Any]:
    """Return what was found, and a cursor when there is more."""
    hits = [
        {
            "session": hit.session,
            "kind": hit.entry.kind,
            "id": hit.entry.id,
            "role": hit.role,
            "position": position_json(hit.position),
            "created_at": iso(hit.created_at),
            **fields_of(hit, "score", "snippet", "marks"),
        }
        for hit in found.hits
    ]
    return {"hits": hits, "cursor": found.cursor}


def hit_lines(output: Output, found: Hits, *, has_names: bool) -> list[str]:
    """Return two lines for each hit; with names, the session and the message are told."""
    lines = []
    for hit in found.hits:
        names = [short(hit.session), short(hit.entry.id)] if has_names else []
        head = "  ".join([*map(clean, (*names, hit.role)), local(hit.created_at)])
        lines.append(output.style(shorten(head, output.width), fg="cyan"))
        lines.append(f"  {_marked(output, hit.snippet, hit.marks)}")
    return lines


def _marked(output: Output, snippet: str, marks: list[tuple[int, int]]) -> str:
    """Write a snippet in one line, the matches in it bold."""
    room = None if output.width is None else output.width - 2
    pieces, at = [], 0
    for start, end in [*marks, (len(snippet), len(snippet))]:
        for text, is_match in ((snippet[at:start], False), (snippet[start:end], True)):
            text = shorten(clean_line(text), room)
            room = None if room is None else room - width_of(text)
            pieces.append(output.style(text, fg="red", bold=True) if is_match else text)
        at = end
    return "".join(pieces)
