"""What was found or read, as text for a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ..model import Entry, Hit, Message, SessionRecord
from ..rules.text import searchable
from ..rules.wording import counted

MOST = 1_000
NOTHING_FOUND = "Nothing was found."


def show_hits(hits: Sequence[Hit], here: str | None = None) -> str:
    """Show hits, each with what names it; `here` is the session that asks."""
    return "\n\n".join(
        f"[session {_session(hit.session, here)}, {_place(hit)}, {_when(hit.created_at)}]\n"
        f"{hit.snippet}"
        for hit in hits
    )


def show_entries(entries: Sequence[Entry], marked: str | None = None) -> str:
    """Show a passage of a session; `marked` is the message that was asked for."""
    return "\n\n".join(_shown(entry, marked) for entry in entries)


def show_sessions(records: Sequence[SessionRecord], here: str | None = None) -> str:
    """Show sessions, a line for each."""
    return "\n".join(
        f"- {_session(record.id, here)}{f': {record.title}' if record.title else ''} "
        f"({counted(record.messages, 'message')}, last active {_when(record.active_at)})"
        for record in records
    )


def cut(text: str, most: int = MOST) -> str:
    """Cut a long text, and say so."""
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most} more characters]"


def _shown(entry: Entry, marked: str | None) -> str:
    if not isinstance(entry, Message):
        return f"[summary, {_when(entry.overlay.created_at)}]\n{cut(entry.text)}"
    mark = ", the one asked for" if entry.id == marked else ""
    head = f"[{entry.role}, message {entry.id!r}, {_when(entry.created_at)}{mark}]"
    return f"{head}\n{cut(searchable(entry.parts))}"


def _session(id: str, here: str | None) -> str:
    return f"{id!r} (this one)" if id == here else repr(id)


def _place(hit: Hit) -> str:
    return "summary" if hit.entry.kind == "overlay" else f"{hit.role}, message {hit.entry.id!r}"


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
