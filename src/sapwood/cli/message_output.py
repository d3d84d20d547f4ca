"""Write one message of a session, or one summary, in full."""

from __future__ import annotations

from ..errors import NotFoundError
from ..model import Message, Overlay, Root
from ..rules.wording import counted
from ..session import SessionManager
from .output import Output, clean, encode_json
from .records import local, message_json, overlay_json, saving_of, text_of
from .short_ids import find_overlay, message_id, session_id


def show_message(sessions: SessionManager, session: str, id: str, output: Output) -> None:
    """Show a message, or the summary of an overlay, whose id begins so."""
    chat = sessions.get(session_id(sessions, session))
    try:
        known = message_id(sessions, chat, id)
    except NotFoundError:
        overlay = find_overlay(chat, id)
        if overlay is None:
            raise
        _show_overlay(overlay, output)
        return
    [message] = sessions.store.find_messages(chat.owner, chat.id, [known])
    if message is None:
        raise NotFoundError(f"message {known!r} was deleted", kind="message", id=known)
    parent = chat.get_parent(known)
    above = None if isinstance(parent, Root) else parent
    if output.is_json:
        output.json({**message_json(message), "session": chat.id, "parent": above})
        return
    output.passage(_heading(message, output), text_of(message), "cyan")
    for line in _notes(message, above, chat.id, output):
        output.line(output.style(line, dim=True))


def _heading(message: Message, output: Output) -> str:
    said_by = clean(f"{message.role} {message.name}" if message.name else message.role)
    return f"{said_by}  {output.id(message.id)}  {local(message.created_at)}"


def _notes(message: Message, above: str | None, session: str, output: Output) -> list[str]:
    """Say where a message stands, and what is kept beside it."""
    follows = f"follows {output.id(above)}" if above else "the first"
    figures = [f"message {message.depth}", follows, counted(message.tokens, "token")]
    if message.version > 1:
        figures.append(f"version {message.version}")
    if message.home != session:
        home = message.home
        figures.append(f"written in {output.id(home)}" if home else "its home is gone")
    kept = [("metadata", message.metadata), ("extra", message.extra)]
    return [
        " · ".join(figures),
        *(f"{name}: {clean(encode_json(value))}" for name, value in kept if value),
    ]


def _show_overlay(overlay: Overlay, output: Output) -> None:
    if output.is_json:
        output.json(overlay_json(overlay))
        return
    head = f"summary  {output.id(overlay.id)}  {local(overlay.created_at)}"
    output.passage(head, overlay.summary, "magenta")
    output.line(output.style(saving_of(overlay), dim=True))
