"""When and how a conversation gets shorter: a summary stands in for its older part."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...compaction import CompactFunction, create_compact_function
from ...compaction.function import Strategy, Summarize
from ...errors import CompactionError
from ...model import CompactEvent, Compaction
from ...session import Session

AFTER = 50_000
# Who asks for it wants it now: only the last few messages stay as they are.
TAIL_MESSAGES = 4
# What stays as it is when it happens by itself, as a part of what the context may hold.
TAIL_SHARE = 3

OnCompaction = Callable[[CompactEvent], None]


class ChatCompaction(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes the summaries, after how many tokens, and who is told.

    Without a summariser they are digests. Without a number it is the session's budget that decides,
    and where there is none, 50,000 tokens.
    """

    summarize: Summarize | None = None
    after: int | None = None
    tell: OnCompaction | None = None

    def watch(self, session: Session) -> Session:
        """Set a session up to be compacted when its context is full, before the model is asked."""
        budget = session.record().budget
        after = self.after
        if after is None and budget is None:
            after = AFTER
        room = after if after is not None else budget
        session.compact_with(_function(self.summarize, "hybrid", tail=(room or 0) // TAIL_SHARE))
        if after is not None:
            session.compact_after(after)
        return self._told(session)

    def compact(self, session: Session, focus: str | None) -> Compaction:
        """Cover all but the last few messages, because the user wants it."""
        session.compact_with(_tight(self.summarize, "summarize"))
        return session.compact(focus=focus)

    def make_room(self, session: Session, leaf: str) -> bool:
        """Cover as much, because the model cannot take it all; return whether that went well."""
        self._told(session.compact_with(_tight(self.summarize, "hybrid")))
        try:
            return session.compact(leaf=leaf).status == "done"
        except CompactionError:
            # The listener was told; what the model said is told by whoever asked it.
            return False

    def _told(self, session: Session) -> Session:
        tell = self.tell
        if tell is None:
            return session

        def listen(event: object) -> None:
            if isinstance(event, CompactEvent):
                tell(event)

        return session.on_event(listen)


def _tight(summarize: Summarize | None, strategy: Strategy) -> CompactFunction:
    return _function(summarize, strategy, head=0, tail=0, messages=TAIL_MESSAGES)


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
