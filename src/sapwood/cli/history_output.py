"""Write a session's history: what the model is shown, in full."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..model import Entry, Message, Read, SessionRecord, Summary
from ..rules.wording import counted
from ..session import SessionManager
from .output import Output, clean, note
from .records import (
    local,
    message_json,
    overlay_json,
    session_json,
    text_of,
    top_of,
    write_heading,
)
from .short_ids import short
from .tree_output import TreePage


def show_history(
    sessions: SessionManager, record: SessionRecord, page: TreePage, output: Output
) -> None:
    """Show a page of a session's history."""
    query = Read(leaf=page.leaf, limit=page.limit, before=page.before, backwards=True)
    history = sessions.store.read(sessions.owner, record.id, query)
    pins = sessions.get(record.id).pins()
    if output.is_json:
        output.json(
            {
                "session": session_json(record),
                "entries": [_entry_json(entry) for entry in history.entries],
                "context_tokens": history.context_tokens,
                "more_above": history.more,
                "before": top_of(history.entries[0]) if history.more else None,
                "pins": pins,
            }
        )
        return
    write_heading(output, record)
    if not history.entries:
        note("no messages")
    for entry in history.entries:
        _write(output, entry, pins)
    if history.more:
        place = f"{clean(short(record.id))} --history --before {top_of(history.entries[0])}"
        note(f"there is more above: sapwood show {place}")


def _entry_json(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Message):
        return message_json(entry)
    return {
        **overlay_json(entry.overlay),
        "kind": "summary",
        "pinned": [message_json(message) for message in entry.pinned],
    }


def _write(output: Output, entry: Entry, pins: Collection[str]) -> None:
    if isinstance(entry, Summary):
        overlay = entry.overlay
        span = f"{overlay.first.depth} to {overlay.last.depth}"
        saved = f"{overlay.covered_tokens} → {counted(overlay.tokens, 'token')}"
        head = f"summary of {span}  {clean(short(overlay.id))}  {saved}"
        output.passage(head, overlay.summary, "magenta")
    for message in [entry] if isinstance(entry, Message) else entry.pinned:
        mark = "pinned " if message.id in pins else ""
        id = clean(short(message.id))
        head = f"{mark}{clean(message.role)}  {id}  {local(message.created_at)}"
        output.passage(head, text_of(message), "cyan")
