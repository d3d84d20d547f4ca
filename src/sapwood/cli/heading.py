"""What stands above a session that is shown."""

from __future__ import annotations

from ..model import SessionRecord
from .output import Output
from .records import local
from .text import clean, shorten


def write_heading(output: Output, record: SessionRecord) -> None:
    """Write what there is to know about a session, in a few lines."""
    title = f"  {clean(record.title)}" if record.title else ""
    name = clean(record.id)
    output.line(output.style(shorten(f"{name}{title}", output.width), bold=True))
    for line in (_figures(record), _origin(record)):
        if line:
            output.line(output.style(shorten(line, output.width), dim=True))
    output.line()


def _figures(record: SessionRecord) -> str:
    budget = "" if record.budget is None else f" of {record.budget}"
    pieces = [
        f"{record.messages} message{'' if record.messages == 1 else 's'}",
        f"{record.context_tokens}{budget} tokens shown",
        record.state,
        f"last active {local(record.active_at)}",
        *(f"#{clean(tag)}" for tag in record.tags),
    ]
    return " · ".join(clean(piece) for piece in pieces)


def _origin(record: SessionRecord) -> str:
    parent = record.parent
    if parent is None:
        return ""
    at = f" at depth {record.forked_at.depth}" if record.forked_at else ""
    return f"{parent.kind.value} of {clean(parent.session)}{at}"
