"""The conversation that is held: one session, as the chat uses it."""

from __future__ import annotations

from ...errors import UsageError
from ...model import ROOT, Message, ModelInput, Overlay
from ...session import Session, SessionManager
from ..text import clean, shorten
from .chat_setup import TAG, ChatSetup

TITLE_WIDTH = 60
BY_DIGEST = ChatSetup()


class Conversation:
    """A session, and how the chat sets it up."""

    def __init__(self, sessions: SessionManager, session: Session, setup: ChatSetup) -> None:
        self.sessions = sessions
        self._setup = setup
        self.session = setup.set_up(session)
        """It writes, and never begins a compaction: not in the middle of an answer."""

    def ask(self, text: str) -> Message:
        """Store what the user says; it is on disk when this returns."""
        record = self.session.record()
        message = self.session.append("user", text)
        if record.title is None and TAG in record.tags and record.tip is ROOT:
            self.session.update_record(title=shorten(clean(text), TITLE_WIDTH))
        return message

    def model_input(self, leaf: str) -> ModelInput:
        """Return what the model is to be shown to answer a message; compact it first if it is full.

        A branch that the conversation does not go on from is only read.
        """
        session = self._setup.watch(self.another_handle())
        return session.prepare(leaf=None if session.record().tip == leaf else leaf)

    def make_room(self, leaf: str) -> bool:
        """Shorten what the model is shown, if it is too much for it; return whether that worked."""
        return self._setup.make_room(self.another_handle(), leaf)

    def compact(self, focus: str | None) -> Overlay:
        """Show a summary in place of all but the last messages, because the user wants it."""
        done = self._setup.tighten(self.another_handle(), "summarize").compact(focus=focus)
        if done.overlay is None:
            raise UsageError(f"nothing was compacted: {done.reason}")
        return done.overlay

    def another_handle(self) -> Session:
        """Return another handle of the session, which can be set up otherwise."""
        return self._setup.set_up(self.sessions.get(self.session.id))

    def last_messages(self, count: int) -> list[Message]:
        """Return the end of the conversation."""
        return self.session.history(limit=count, overlays=False).messages_only

    def last_question(self) -> str:
        """Return the id of the last thing that the user said."""
        for message in reversed(self.session.history(overlays=False).messages_only):
            if message.role == "user":
                return message.id
        raise UsageError("nothing was asked yet")


def open_conversation(
    sessions: SessionManager, id: str | None, setup: ChatSetup = BY_DIGEST
) -> tuple[Conversation, bool]:
    """Return a session by its id, or the last chat, and whether it had to be created."""
    if id is None:
        page = sessions.list_sessions(tags=[TAG], limit=1)
        found = sessions.find(page.sessions[0].id) if page.sessions else None
    else:
        found = sessions.find(id)
    if found is not None:
        return Conversation(sessions, found, setup), False
    if id is None:
        return new_conversation(sessions, None, setup), True
    return Conversation(sessions, sessions.session(id, tags=[TAG]), setup), True


def new_conversation(sessions: SessionManager, title: str | None, setup: ChatSetup) -> Conversation:
    """Begin a session of its own."""
    return Conversation(sessions, sessions.create(title=title or None, tags=[TAG]), setup)
