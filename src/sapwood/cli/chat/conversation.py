"""The conversation that is held: all that the chat asks of a session, in one place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from ...compaction.function import Summarize
from ...compaction.repair import repair_turn, turn_messages
from ...errors import UsageError
from ...model import (
    ROOT,
    Hits,
    Leaf,
    Message,
    Overlay,
    Part,
    Root,
    SessionRecord,
    Summary,
    ToolDefinition,
    ToolResultPart,
    TurnMessage,
    Usage,
    UsageTotal,
)
from ...session import Session, SessionManager
from ..text import clean, shorten
from .compacting import compact
from .tools import SEARCH, call_tool

TAG = "chat"
TITLE_WIDTH = 60


class ContextReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is shown, in figures."""

    messages: int
    summaries: int
    tokens: int
    budget: int | None


class Conversation:
    """One session, as the chat uses it."""

    def __init__(self, sessions: SessionManager, session: Session) -> None:
        self.sessions = sessions
        self._session = session

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    def record(self) -> SessionRecord:
        """Give the session's record."""
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

    def turn(self, leaf: str) -> list[TurnMessage]:
        """Give what the model is to be shown to answer a message."""
        return repair_turn(turn_messages(self._session.history(leaf).entries))

    def tools(self) -> list[ToolDefinition]:
        """Give the tools that the model may call."""
        return [SEARCH]

    def call_tool(self, name: str, given: Any, *, without: Collection[str]) -> str:
        """Call a tool for the model; what asked for it is not among what it finds."""
        return call_tool(self._session, name, given, without=without)

    # looking

    def last_messages(self, count: int) -> list[Message]:
        """Give the end of the conversation."""
        return self._session.history(limit=count, overlays=False).messages

    def last_question(self) -> str:
        """Give the id of the last thing that the user said."""
        for message in reversed(self._session.history(overlays=False).messages):
            if message.role == "user":
                return message.id
        raise UsageError("nothing was asked yet")

    def search(self, query: str) -> Hits:
        """Find what was said in this conversation."""
        return self._session.search(query)

    def context(self) -> ContextReport:
        """Tell how full the model's context is."""
        record, history = self.record(), self._session.history()
        return ContextReport(
            messages=len(history.messages),
            summaries=sum(isinstance(entry, Summary) for entry in history.entries),
            tokens=history.context_tokens,
            budget=record.budget,
        )

    def add_usage(self, usage: Usage) -> None:
        """Count what a model call cost."""
        self.sessions.store.add_usage(self.sessions.owner, self.id, usage)

    def usage(self) -> list[UsageTotal]:
        """Give what the session's model calls cost, by model."""
        return self.sessions.store.total_usage(self.sessions.owner, self.id)

    def compact(self, focus: str | None, summarize: Summarize | None) -> Overlay:
        """Show a summary in place of all but the last messages."""
        done = compact(self._session, focus, summarize)
        if done.usage is not None:
            self.add_usage(done.usage)
        return done.overlay

    # moving

    def branches(self) -> list[Leaf]:
        """List the ends of the tree's branches."""
        return self._session.branches()

    def checkout(self, leaf: str) -> SessionRecord:
        """Go on from the end of another branch."""
        return self._session.checkout(leaf)

    def undo(self) -> SessionRecord:
        """Go back to before the last thing that the user said."""
        above: str | Root = ROOT
        place: str | Root | None = None
        for message in self._session.history(overlays=False).messages:
            if message.role == "user":
                place = above
            above = message.id
        if place is None:
            raise UsageError("there is nothing to undo")
        return self._session.checkout(place)

    def redo(self) -> SessionRecord:
        """Go on to the end of the newest turn that follows here."""
        here: Message | None = None
        place: str | Root = self._session.tip()
        while following := self._session.children(place):
            newest = max(following, key=lambda it: it.created_us)
            if here is not None and newest.role == "user":
                break
            here, place = newest, newest.id
        if here is None:
            raise UsageError("there is nothing to redo")
        return self._session.checkout(here)


def open_conversation(sessions: SessionManager, id: str | None) -> tuple[Conversation, bool]:
    """Give a session by its id, or the last chat; tell whether it had to be created."""
    if id is None:
        page = sessions.list_sessions(tags=[TAG], limit=1)
        found = sessions.find(page.sessions[0].id) if page.sessions else None
    else:
        found = sessions.find(id)
    if found is not None:
        return Conversation(sessions, found), False
    if id is None:
        return new_conversation(sessions, None), True
    return Conversation(sessions, sessions.session(id, tags=[TAG])), True


def new_conversation(sessions: SessionManager, title: str | None) -> Conversation:
    """Begin a session of its own."""
    return Conversation(sessions, sessions.create(title=title or None, tags=[TAG]))
