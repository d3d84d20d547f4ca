"""The conversation that is held: all that the chat asks of a session, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ...errors import UsageError
from ...model import (
    ROOT,
    Hits,
    Leaf,
    Message,
    ModelInput,
    Overlay,
    Part,
    SessionRecord,
    Summary,
    ToolResultPart,
    Usage,
    UsageTotal,
)
from ...session import Session, SessionManager
from ..text import clean, shorten
from .chat_setup import TAG, ChatSetup

TITLE_WIDTH = 60
BY_DIGEST = ChatSetup()


class BlockReport(msgspec.Struct, frozen=True, kw_only=True):
    """A block of the system prompt, in figures."""

    label: str
    tokens: int
    max_tokens: int | None


class ContextReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is shown, in figures; `tokens` are those of the prompt and the tools, too."""

    messages: int
    summaries: int
    tokens: int
    budget: int | None
    blocks: list[BlockReport]


class Conversation:
    """One session, as the chat uses it."""

    def __init__(self, sessions: SessionManager, session: Session, setup: ChatSetup) -> None:
        self.sessions = sessions
        self._setup = setup
        self._compaction = setup.compaction
        # It writes, and never begins a compaction: not in the middle of an answer.
        self._session = setup.set_up(session)

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    def record(self) -> SessionRecord:
        """Return the session's record."""
        return self._session.record()

    # saying

    def ask(self, text: str) -> Message:
        """Store what the user says; it is on disk when this returns."""
        record = self.record()
        message = self._session.append("user", text)
        if record.title is None and TAG in record.tags and record.tip is ROOT:
            self._session.update_record(title=shorten(clean(text), TITLE_WIDTH))
        return message

    def append_answer(self, parts: Sequence[Part], metadata: dict[str, Any], to: str) -> Message:
        """Store the beginning of an answer, after what it answers."""
        return self._session.append("assistant", list(parts), metadata=metadata, parent=to)

    def update_answer(self, id: str, parts: Sequence[Part], metadata: dict[str, Any]) -> Message:
        """Store what an answer has grown to."""
        return self._session.update(id, list(parts), metadata=metadata)

    def append_results(self, results: Sequence[ToolResultPart], to: str) -> Message:
        """Store what tools answered, after the calls."""
        return self._session.append("tool", list(results), parent=to)

    def model_input(self, leaf: str) -> ModelInput:
        """Return what the model is to be shown to answer a message; compact it first if it is full.

        A branch that the conversation does not go on from is only read.
        """
        session = self._compaction.watch(self._again())
        return session.prepare(leaf=None if self.record().tip == leaf else leaf)

    def make_room(self, leaf: str) -> bool:
        """Shorten what the model is shown, if it is too much for it; return whether that worked."""
        return self._compaction.make_room(self._again(), leaf)

    def call_tool(self, name: str, given: Any) -> str:
        """Call a tool for the model; what is wrong is told in the answer."""
        return self._session.call_tool(name, given)

    def _again(self) -> Session:
        """Return another handle of the session, which can be set up otherwise."""
        return self._setup.set_up(self.sessions.get(self.id))

    # looking

    def last_messages(self, count: int) -> list[Message]:
        """Return the end of the conversation."""
        return self._session.history(limit=count, overlays=False).messages_only

    def last_question(self) -> str:
        """Return the id of the last thing that the user said."""
        for message in reversed(self._session.history(overlays=False).messages_only):
            if message.role == "user":
                return message.id
        raise UsageError("nothing was asked yet")

    def search(self, query: str) -> Hits:
        """Find what was said in this conversation."""
        return self._session.search(query)

    def context(self) -> ContextReport:
        """Return how full the model's context is."""
        session = self._again()
        history = session.history()
        return ContextReport(
            messages=len(history.messages_only),
            summaries=sum(isinstance(entry, Summary) for entry in history.entries),
            tokens=session.context_tokens(),
            budget=self.record().budget,
            blocks=[
                BlockReport(label=it.label, tokens=it.tokens, max_tokens=it.max_tokens)
                for it in session.context_blocks()
            ],
        )

    def add_usage(self, usage: Usage) -> None:
        """Count what a model call cost."""
        self._session.add_usage(usage)

    def usage(self) -> list[UsageTotal]:
        """Return what the session's model calls cost, by model."""
        return self._session.usage()

    def compact(self, focus: str | None) -> Overlay:
        """Show a summary in place of all but the last messages."""
        done = self._compaction.compact(self._again(), focus)
        if done.overlay is None:
            raise UsageError(f"nothing was compacted: {done.reason}")
        return done.overlay

    # moving

    def branches(self) -> list[Leaf]:
        """List the ends of the tree's branches."""
        return self._session.branches()

    def checkout(self, leaf: str) -> SessionRecord:
        """Go on from the end of another branch."""
        return self._session.checkout(leaf)

    def undo(self) -> SessionRecord:
        """Go back to before the last turn."""
        return self._session.undo()

    def redo(self) -> SessionRecord:
        """Go forward again, once for each undo."""
        return self._session.redo()


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
