"""What a chat's conversation is furnished with: a memory, and a way to look into the others."""

from __future__ import annotations

import msgspec

from ...session import Session
from .chat_compaction import ChatCompaction

TAG = "chat"
MEMORY = "memory"
MEMORY_TOKENS = 1_100
# One for all chats of an owner, and for no other program's sessions.
AGENT = "chat"
HISTORY = "history"


class ChatSetup(msgspec.Struct, frozen=True, kw_only=True):
    """How the chat sets its sessions up."""

    compaction: ChatCompaction = ChatCompaction()
    has_tools: bool = True

    def set_up(self, session: Session) -> Session:
        """Add to a chat's own session a block that the model writes, and the tools for it.

        Another program's session keeps the prompt that this program froze. Without tools the block
        is only read.
        """
        if TAG not in session.record().tags:
            return session
        session.with_context(
            MEMORY,
            description="What to remember of this user in all conversations",
            max_tokens=MEMORY_TOKENS,
            scope="agent",
            agent=AGENT,
            readonly=not self.has_tools,
        )
        return session.with_searchable_history(HISTORY) if self.has_tools else session
