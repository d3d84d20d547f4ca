"""How a chat sets its sessions up: a memory, a way to look into the others, and summaries.

A conversation gets shorter when a summary stands in for its older part.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...compaction import CompactFunction, create_compact_function
from ...compaction.function import Strategy, Summarize
from ...errors import CompactionError
from ...model import CompactEvent
from ...session import Session

TAG = "chat"
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
    on_compaction: Callable[[CompactEvent], None] | None = None

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
        tell = self.on_compaction
        if tell is None:
            return session

        def listen(event: object) -> None:
            if isinstance(event, CompactEvent):
                tell(event)

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
