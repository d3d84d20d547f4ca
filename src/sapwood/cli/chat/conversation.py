"""The conversation that is held: one session, as the chat sets it up and uses it.

It has a memory and a way to look into the others, and gets shorter when a summary stands in for its
older part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ...compaction import CompactFunction, create_compact_function
from ...compaction.function import Strategy, Summarize
from ...errors import CompactionError, UsageError
from ...model import CompactEvent, Message, Overlay
from ...session import Session, SessionManager
from ...session.turn_documents import TURN_LEASE
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

Hear = Callable[[Iterator[Any]], Iterator[Any]]


class ChatSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools there are, who writes the summaries, after how many tokens, and who is told.

    Without a summariser they are digests. Without `after` it is the session's budget that decides,
    and where there is none, `usually`.
    """

    has_tools: bool = True
    summarize: Summarize | None = None
    after: int | None = None
    usually: int = AFTER
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

    def watch(self, session: Session, hear: Hear) -> Session:
        """Set a session up to be compacted when its context is full, before the model is asked."""

        def summarize(prompt: str) -> Any:
            return next(hear(write(prompt) for write in [self.summarize] if write is not None))

        budget = session.record().budget
        after = self.usually if self.after is None and budget is None else self.after
        room = budget if after is None else after
        function = _function(
            None if self.summarize is None else summarize, "hybrid", tail=(room or 0) // TAIL_SHARE
        )
        session.compact_with(function)
        return self._heard(session if after is None else session.compact_after(after))

    def tighten(self, session: Session, strategy: Strategy) -> Session:
        """Set a session up to be compacted to its last few messages."""
        function = _function(self.summarize, strategy, head=0, tail=0, messages=TAIL_MESSAGES)
        return session.compact_with(function)

    def make_room(self, session: Session) -> bool:
        """Cover all but the last few messages, because the model cannot take it all.

        Return whether that went well.
        """
        try:
            compacted = self._heard(self.tighten(session, "hybrid")).compact()
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
    summarize: Summarize | None,
    strategy: Strategy,
    *,
    tail: int,
    head: int = 3,
    messages: int = 2,
) -> CompactFunction:
    return create_compact_function(
        summarize,
        strategy="digest" if summarize is None else strategy,
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

    def answering(self, listen: Callable[[Any], None], hear: Hear) -> Session:
        """Return a handle for a model that answers, which is compacted when its context is full."""
        return self._setup.watch(self.another_handle(), hear).on_event(listen)

    def name_after(self, message: Message) -> None:
        """Let a chat's first words be its title."""
        record = self.session.record()
        if record.title is None and TAG in record.tags and message.depth == 1:
            self.session.update_record(title=shorten(clean(message.text), TITLE_WIDTH))

    def is_answered_elsewhere(self) -> bool:
        """Whether somebody holds the turn at the tip: another chat, or one that was just killed."""
        last = self.last_messages(1)
        turn = self.session.find_turn(last[0]) if last else None
        return turn is not None and turn.state == "open"

    def ask_again(self) -> None:
        """Go back to what the user said last, whoever may be answering it."""
        self.sessions.store.delete_document(
            self.sessions.owner, TURN_LEASE, session=self.session.id
        )
        self.session.retry_from()

    def make_room(self) -> bool:
        """Shorten what the model is shown, if it is too much for it; return whether that worked."""
        return self._setup.make_room(self.another_handle())

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
