"""Write a session's history: what the model is shown, in full."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..model import Entry, History, Message, Read, SessionRecord, Summary
from ..session import SessionManager
from .heading import write_heading
from .output import Output, note
from .passage import write_passage
from .records import local, message_json, overlay_json, session_json, words_of
from .text import clean
from .tree_view import TreePage


def show_history(
    sessions: SessionManager, record: SessionRecord, page: TreePage, is_json: bool
) -> None:
    """Show a page of a session's history."""
    output = Output()
    query = Read(leaf=page.leaf, limit=page.limit, before=page.before, backwards=True)
    history = sessions.store.read(sessions.owner, record.id, query)
    pins = sessions.get(record.id).pins()
    if is_json:
        output.json({**_json_of(record, history), "pins": pins})
        return
    write_heading(output, record)
    if not history.entries:
        note("no messages")
    for entry in history.entries:
        _write(output, entry, pins)
    if history.more:
        depth = _top(history.entries[0])
        name = clean(record.id)
        note(f"there is more above: sapwood show {name} --history --before {depth}")


def _json_of(record: SessionRecord, history: History) -> dict[str, Any]:
    return {
        "session": session_json(record),
        "entries": [_entry_json(entry) for entry in history.entries],
        "context_tokens": history.context_tokens,
        "more_above": history.more,
        "before": _top(history.entries[0]) if history.more else None,
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Message):
        return message_json(entry)
    return {
        **overlay_json(entry.overlay),
        "kind": "summary",
        "pinned": [message_json(message) for message in entry.pinned],
    }


def _top(entry: Entry) -> int:
    return entry.depth if isinstance(entry, Message) else entry.overlay.first.depth


def _write(output: Output, entry: Entry, pins: Collection[str]) -> None:
    if isinstance(entry, Summary):
        overlay = entry.overlay
        span = f"{overlay.first.depth} to {overlay.last.depth}"
        saved = f"{overlay.covered_tokens} → {overlay.tokens} tokens"
        head = f"summary of {span}  {clean(overlay.id)}  {saved}"
        write_passage(output, head, overlay.summary, "magenta")
        for message in entry.pinned:
            _write_message(output, message, pins)
    else:
        _write_message(output, entry, pins)


def _write_message(output: Output, message: Message, pins: Collection[str]) -> None:
    mark = "pinned " if message.id in pins else ""
    head = f"{mark}{clean(message.role)}  {clean(message.id)}  {local(message.created_at)}"
    text = "\n".join(words_of(part) for part in message.parts)
    write_passage(output, head, text, "cyan")
