"""Write a session's history: what the model is shown, in full."""

from __future__ import annotations

from typing import Any

from ..model import Entry, History, Message, Read, SessionRecord, Summary
from ..session import SessionManager
from .describe import local, message_json, overlay_json, session_json, words_of
from .heading import write_heading
from .output import Output, note
from .text import clean, clean_block, shorten, wrap
from .view import Page

INDENT = "  "


def show_history(
    sessions: SessionManager, record: SessionRecord, page: Page, is_json: bool
) -> None:
    """Show a page of a session's history."""
    output = Output()
    query = Read(leaf=page.leaf, limit=page.limit, before=page.before, backwards=True)
    history = sessions.store.read(sessions.owner, record.id, query)
    if is_json:
        output.json(_json_of(record, history))
        return
    write_heading(output, record)
    if not history.entries:
        note("no messages")
    for entry in history.entries:
        _write(output, entry)
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


def _write(output: Output, entry: Entry) -> None:
    if isinstance(entry, Summary):
        overlay = entry.overlay
        span = f"{overlay.first.depth} to {overlay.last.depth}"
        _write_block(output, f"summary of {span}  {clean(overlay.id)}", overlay.summary, "magenta")
        for message in entry.pinned:
            _write_message(output, message, "pinned ")
    else:
        _write_message(output, entry, "")


def _write_message(output: Output, message: Message, kind: str) -> None:
    head = f"{kind}{clean(message.role)}  {clean(message.id)}  {local(message.created_at)}"
    text = "\n".join(words_of(part) for part in message.parts)
    _write_block(output, head, text, "cyan")


def _write_block(output: Output, head: str, text: str, colour: str) -> None:
    output.line(output.style(shorten(head, output.width), fg=colour, bold=True))
    width = None if output.width is None else output.width - len(INDENT)
    for line in clean_block(text).split("\n"):
        for piece in wrap(line, width):
            output.line(f"{INDENT}{piece}")
    output.line()
