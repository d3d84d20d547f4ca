"""Changes as JSON and as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import NotFoundError
from ..model import Change, Message, datetime_of
from ..session import SessionManager
from .output import Output
from .records import brief, iso, local
from .text import clean, pad, shorten

MessageTexts = dict[tuple[str, str | None], str]

COLOURS = {"append": "green", "update": "yellow", "delete": "red", "retire": "red"}


def change_json(change: Change, cursor: str) -> dict[str, Any]:
    """Return a change; reading on from the cursor misses nothing that follows it."""
    return {
        "kind": change.kind.value,
        "session": change.session,
        "message": change.message,
        "depth": change.depth,
        "at": iso(datetime_of(change.at_us)),
        "cursor": cursor,
    }


def texts_of(sessions: SessionManager, changes: Sequence[Change]) -> MessageTexts:
    """Read what the changed messages say now, a session at a time."""
    ids: dict[str, list[str]] = {}
    for change in changes:
        if change.message is not None:
            ids.setdefault(change.session, []).append(change.message)
    found: MessageTexts = {}
    for session, names in ids.items():
        for message in _find(sessions, session, names):
            if message is not None:
                found[session, message.id] = f"{clean(message.role)}: {brief(message)}"
    return found


def _find(sessions: SessionManager, session: str, ids: Sequence[str]) -> list[Message | None]:
    try:
        return sessions.store.find_messages(sessions.owner, session, ids)
    except NotFoundError:
        # Deleted since: the change is told without its text.
        return []


def write_change(output: Output, change: Change, text: str) -> None:
    """Write a change in a line."""
    kind = change.kind.value
    place = "" if change.depth is None else f"#{change.depth}"
    head = f"{local(datetime_of(change.at_us))}  {pad(kind, 6)}  {clean(change.session)} {place}"
    line = shorten(f"{head}  {text}" if text else head, output.width or 300)
    colour = COLOURS.get(kind)
    output.line(line.replace(kind, output.style(kind, fg=colour), 1))
