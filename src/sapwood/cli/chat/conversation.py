"""The conversation that is held: one session, as the chat sets it up and uses it.

It has a memory and a way to look into the others, and gets shorter when a summary stands in for its
older part.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...compaction import CompactFunction, create_compact_function
from ...compaction.function import Strategy, Summarize
from ...errors import CompactionError, UsageError
from ...model import ROOT, CompactEvent, Message, ModelInput, Overlay
from ...session import Session, SessionManager
from ..output import clean, shorten
from ..short_ids import begun_session

TAG = "chat"
TITLE_WIDTH = 60
MEMORY_TOKENS = 1_100
AFTER = 50_000
# Who asks for it wants it now: only the last few messages stay as they are.
TAIL_MESSAGES = 4
# What stays as it is when it happens by itself, as a part of what the context may hold.
TAIL_SHARE = 3


class ChatSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools there are, who writes the summaries, after how many tokens, and who is told.

    Without a summariser they are digests. Without a number it is the session's budget that decides,
    and where there is none, 50,000 tokens.
    """

    has_tools: bool = True
    summarize: Summarize | None = None
    after: int | None = None
    on_compaction: Callable[[CompactEvent], None] = lambda event: None

    def set_up(self, session: Session) -> Session:
        """Add to a chat's own session a block that the model writes, and the tools for it.

        Another program's session keeps the prompt that this program froze. Without tools the block
        is only read.
        """
        if TAG not in session.record().tags:
            return session
        session.with_context(
            "memory",
            description="What to remember of this user in all conversations",
            max_tokens=MEMORY_TOKENS,
            scope="agent",
            # One for all chats of an owner, and for no other program's sessions.
            agent="chat",
            readonly=not self.has_tools,
        )
        return session.with_searchable_history("history") if self.has_tools else session

    def watch(self, session: Session) -> Session:
        """Set a session up to be compacted when its context is full, before the model is asked."""
        budget = session.record().budget
        after = AFTER if self.after is None and budget is None else self.after
        room = budget if after is None else after
        session.compact_with(self._function("hybrid", tail=(room or 0) // TAIL_SHARE))
        if after is not None:
            session.compact_after(after)
        return self._heard(session)

    def tighten(self, session: Session, strategy: Strategy) -> Session:
        """Set a session up to be compacted to its last few messages."""
        return session.compact_with(
            self._function(strategy, head=0, tail=0, messages=TAIL_MESSAGES)
        )

    def make_room(self, session: Session, leaf: str) -> bool:
        """Cover all but the last few messages, because the model cannot take it all.

        Return whether that went well.
        """
        try:
            compacted = self._heard(self.tighten(session, "hybrid")).compact(leaf=leaf)
        except CompactionError:
            # The listener was told; what the model said is told by whoever asked it.
            return False
        return compacted.status == "done"

    def _heard(self, session: Session) -> Session:
        def listen(event: object) -> None:
            if isinstance(event, CompactEvent):
                self.on_compaction(event)

        return session.on_event(listen)

    def _function(
        self, strategy: Strategy, *, tail: int, head: int = 3, messages: int = 2
    ) -> CompactFunction:
        return create_compact_function(
            self.summarize,
            strategy="digest" if self.summarize is None else strategy,
            protect_head=head,
            tail_token_budget=tail,
            min_tail_messages=messages,
            # The SDK has a limit of its own, and Ctrl-C ends it.
            timeout_s=None,
        )


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
    sessions: SessionManager, id: str | None, setup: ChatSetup
) -> tuple[Conversation, bool]:
    """Return a session by its id, or the last chat, and whether it had to be created."""
    if id is None:
        page = sessions.list_sessions(tags=[TAG], limit=1)
        found = sessions.find(page.sessions[0].id) if page.sessions else None
    else:
        id = begun_session(sessions, id)
        found = sessions.find(id)
    if found is not None:
        return Conversation(sessions, found, setup), False
    if id is None:
        return new_conversation(sessions, None, setup), True
    return Conversation(sessions, sessions.session(id, tags=[TAG]), setup), True


def new_conversation(sessions: SessionManager, title: str | None, setup: ChatSetup) -> Conversation:
    """Begin a session of its own."""
    return Conversation(sessions, sessions.create(title=title, tags=[TAG]), setup)
