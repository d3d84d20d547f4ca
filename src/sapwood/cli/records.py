"""Records as the plain JSON objects and the lines of text in which commands answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from ..model import (
    EdgeKind,
    Entry,
    Message,
    Overlay,
    Part,
    Position,
    ReasoningPart,
    Root,
    SessionRecord,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ..model.session import RECORD_FIELDS
from ..rules.wording import counted
from .output import LONGEST_LINE, Output, clean, encode_json, shorten
from .short_ids import short

MOST_STEPS = 4
_HOUR = 60 * 60
_SPANS = (
    (365 * 24 * _HOUR, "year"),
    (30 * 24 * _HOUR, "month"),
    (24 * _HOUR, "day"),
    (_HOUR, "h"),
    (60, "min"),
)


def fields_of(record: object, *names: str) -> dict[str, Any]:
    """Return fields of a record by their names, in this order."""
    return {name: getattr(record, name) for name in names}


def session_json(record: SessionRecord) -> dict[str, Any]:
    """Return a session's record; a tip of null is the root."""
    parent = record.parent
    return {
        **fields_of(record, "id", "kind", *RECORD_FIELDS),
        "system": msgspec.structs.asdict(record.system),
        "parent": parent and {"kind": parent.kind.value, "session": parent.session},
        "forked_at": position_json(record.forked_at),
        "tip": None if isinstance(record.tip, Root) else record.tip,
        **fields_of(record, "messages", "context_tokens", "version"),
        "created_at": iso(record.created_at),
        "active_at": iso(record.active_at),
        "updated_at": iso(record.updated_at),
    }


def listed_json(record: SessionRecord) -> dict[str, Any]:
    """Return a record as a listing has it: with a preview, and what is unread where it is asked."""
    preview, unread = record.preview, record.unread
    return {
        **session_json(record),
        "preview": preview
        and {
            **fields_of(preview, "id", "role", "name", "text"),
            "position": position_json(preview.position),
            "created_at": iso(preview.created_at),
        },
        **({} if unread is None else {"unread": unread}),
    }


def preview_line(record: SessionRecord) -> str:
    """Return who said what last in a session."""
    preview = record.preview
    return f"{preview.name or preview.role}: {preview.text}" if preview and preview.text else ""


def message_json(message: Message) -> dict[str, Any]:
    """Return a message, its parts as a client would write them."""
    return {
        "kind": "message",
        **fields_of(message, "id", "role", "name"),
        "parts": [part.to_json() for part in message.parts],
        **fields_of(message, "metadata", "extra", "tokens", "version", "home"),
        "position": position_json(message.position),
        "created_at": iso(message.created_at),
    }


def overlay_json(overlay: Overlay) -> dict[str, Any]:
    """Return an overlay."""
    return {
        "kind": "overlay",
        "id": overlay.id,
        "first": position_json(overlay.first),
        "last": position_json(overlay.last),
        **fields_of(overlay, "summary", "tokens", "covered_tokens", "metadata", "created_by"),
        "created_at": iso(overlay.created_at),
    }


def top_of(entry: Entry) -> int:
    """Return the depth at which an entry of a history begins."""
    return entry.depth if isinstance(entry, Message) else entry.overlay.first.depth


def span_of(overlay: Overlay) -> str:
    """Write which messages an overlay covers."""
    return span(overlay.first.depth, overlay.last.depth)


def span(first: int, last: int) -> str:
    """Write from which message to which, by their depths."""
    return f"message {first}" if first == last else f"messages {first} to {last}"


def saving_of(overlay: Overlay) -> str:
    """Write which messages an overlay covers, and what that saves."""
    return f"{span_of(overlay)}: {counted(overlay.covered_tokens, 'token')} became {overlay.tokens}"


def out_of(count: int, most: int | None, noun: str) -> str:
    """Write a number, and of how many where there is a limit."""
    return counted(count, noun) if most is None else f"{count} of {counted(most, noun)}"


def position_json(position: Position | None) -> dict[str, Any] | None:
    """Return a position; null is the root, or none at all."""
    return None if position is None else msgspec.structs.asdict(position)


def iso(moment: datetime) -> str:
    """Write a time for programs."""
    return moment.isoformat().replace("+00:00", "Z")


def local(moment: datetime) -> str:
    """Write a time for people, by their own clock, to the minute."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def ago(moment: datetime, now: datetime) -> str:
    """Write for people how long ago something was."""
    seconds = int((now - moment).total_seconds())
    if seconds < 60:
        # A clock that is a little ahead of ours makes no future.
        return "just now" if seconds > -60 else local(moment)
    for size, unit in _SPANS:
        if seconds >= size:
            number = seconds // size
            return (
                f"{number} {unit} ago" if unit in ("h", "min") else f"{counted(number, unit)} ago"
            )
    raise AssertionError("a minute is the shortest span")


def lineage_of(record: SessionRecord, known: Mapping[str, SessionRecord]) -> str:
    """Write what a session came out of, and what that came out of, as far as it is known."""
    steps: list[str] = []
    here: SessionRecord | None = record
    while here is not None and here.parent is not None and len(steps) < MOST_STEPS:
        edge, depth = here.parent, here.forked_at and here.forked_at.depth
        how = "" if edge.kind is EdgeKind.BRANCH else f"{edge.kind.value} of "
        steps.append(f"{how}{short(edge.session)}" + (f" #{depth}" if depth else ""))
        here = known.get(edge.session)
    return " ← ".join(steps)


def text_of(message: Message) -> str:
    """Write in full what a message holds."""
    return "\n".join(words_of(part) for part in message.parts)


def brief(message: Message) -> str:
    """Return in one line what a message holds."""
    pieces: list[str] = []
    size = 0
    for part in message.parts:
        pieces.append(clean(words_of(part)))
        size += len(pieces[-1])
        if size > LONGEST_LINE:
            break
    return " ".join(pieces)


def words_of(part: Part) -> str:
    """Write a part as text."""
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ReasoningPart):
        return f"({part.text})"
    if isinstance(part, ToolCallPart):
        return f"→ {part.name} {_plain(part.input)}"
    if isinstance(part, ToolResultPart):
        return f"← {_plain(part.output)}"
    return _plain(part.to_json())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value)


def write_heading(output: Output, record: SessionRecord) -> None:
    """Write what there is to know about a session, in a few lines."""
    title = f"  {clean(record.title)}" if record.title else ""
    name = clean(short(record.id))
    output.line(output.style(shorten(f"{name}{title}", output.width), bold=True))
    for line in (_figures(record), _origin(record)):
        if line:
            output.line(output.style(shorten(line, output.width), dim=True))
    output.line()


def _figures(record: SessionRecord) -> str:
    pieces = [
        counted(record.messages, "message"),
        f"{out_of(record.context_tokens, record.budget, 'token')} shown",
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
    return f"{parent.kind.value} of {clean(short(parent.session))}{at}"
