"""What a notebook shows: escaped HTML without scripts or colours, so it suits light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Any

import msgspec

from .history import Entry
from .message import Message
from .part import (
    FilePart,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from .short_id import short

MOST_TEXT = 200
MOST_PROMPT = 2_000
MOST_ROWS = 40
KEPT_ABOVE = 5

_LOOKED_AT = 2_000
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
"""The same but for the ends of lines and tabs."""
_LINE = "1px solid rgba(128,128,128,.4)"
_CELL = "text-align:left;padding:0 1em 0 0"


def page(title: str, facts: Iterable[str], body: Sequence[str]) -> str:
    """Return a heading, what is known in a line, and the rows under it, which are HTML."""
    known = " · ".join(escape(_plain(fact)) for fact in facts if fact)
    return (
        f'<div style="font:13px/1.5 system-ui,sans-serif;border-left:{_LINE};padding-left:.8em">'
        f"<div><b><bdi>{escape(_plain(title))}</bdi></b>{_dim(f' {known}')}</div>"
        f"{''.join(body)}</div>"
    )


def message_row(role: str, parts: Sequence[Part], *notes: str, name: str | None = None) -> str:
    """Return a row for what somebody said."""
    said_by = f"{role} {name}" if name else role
    return row(said_by, " ".join(map(_words_of, parts)), *notes)


def stored_row(message: Message, *notes: str) -> str:
    """Return a row for a stored message."""
    return message_row(message.role, message.parts, short(message.id), *notes, name=message.name)


def row(head: str, text: str, *notes: str) -> str:
    """Return a row: who or what, the beginning of a text, and notes."""
    told = _dim(" " + " · ".join(escape(cut(note)) for note in notes)) if notes else ""
    return f"<div><b>{escape(cut(head))}</b> <bdi>{escape(cut(text))}</bdi>{told}</div>"


def note(text: str) -> str:
    """Return a row for what is not shown, or not known."""
    return f"<div>{_dim(escape(_plain(text)))}</div>"


def indented(rows: Iterable[str]) -> str:
    """Return rows that stand beside those above."""
    style = f"margin-left:1em;border-left:{_LINE};padding-left:.8em"
    return f'<div style="{style}">{"".join(rows)}</div>'


def folded(title: str, text: str) -> str:
    """Return a text that is opened by a click."""
    told = text[:MOST_PROMPT] + ("…" if len(text) > MOST_PROMPT else "")
    shown = escape(_UNSEEN.sub(" ", told))
    style = "white-space:pre-wrap;margin:.2em 0;background:none;color:inherit"
    return (
        f"<details><summary>{escape(_plain(title))}</summary>"
        f'<pre style="{style}"><bdi>{shown}</bdi></pre></details>'
    )


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts."""
    head = "".join(f'<th style="{_CELL}">{escape(it)}</th>' for it in titles)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{_CELL}"><bdi>{escape(cut(it))}</bdi></td>' for it in cells)
        + "</tr>"
        for cells in rows
    )
    return f'<table style="border-collapse:collapse"><tr>{head}</tr>{body}</table>'


def middle_left_out(rows: Sequence[str]) -> list[str]:
    """Return the rows, but for the middle where there are many."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    below = MOST_ROWS - KEPT_ABOVE
    left = len(rows) - MOST_ROWS
    return [*rows[:KEPT_ABOVE], note(f"⋮ {left} more"), *rows[-below:]]


def entry_rows(entries: Iterable[Entry]) -> list[str]:
    """Return a row for each entry of a history, and for each message that is pinned under one."""
    rows = []
    for entry in entries:
        if isinstance(entry, Message):
            rows.append(stored_row(entry))
            continue
        overlay = entry.overlay
        span = f"{overlay.first.depth} to {overlay.last.depth}"
        rows.append(row("summary", overlay.summary, overlay.id, f"of {span}"))
        rows += [stored_row(it, "pinned") for it in entry.pinned]
    return rows


def many(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def minute(moment: datetime) -> str:
    """Return a time to the minute."""
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def cut(text: str) -> str:
    """Return the beginning of a text, in one line."""
    line = _plain(text)
    return line if len(line) <= MOST_TEXT else f"{line[:MOST_TEXT].rstrip()}…"


def _plain(text: str) -> str:
    return " ".join(_CONTROLS.sub(" ", text[:_LOOKED_AT]).split())


def _dim(html: str) -> str:
    return f'<span style="opacity:.65">{html}</span>'


def _words_of(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ReasoningPart):
        return f"({part.text})"
    if isinstance(part, ToolCallPart):
        return f"→ {part.name} {_json(part.input)}"
    if isinstance(part, ToolResultPart):
        return f"← {_json(part.output)}"
    if isinstance(part, FilePart):
        return f"[{part.media_type} {part.name or part.uri or ''}]"
    assert isinstance(part, OtherPart)
    return _json(part.value)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
