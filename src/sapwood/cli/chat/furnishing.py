"""What every conversation is furnished with: a memory, and a way to look into the others."""

from __future__ import annotations

from ...session import SessionManager

MEMORY = "memory"
MEMORY_TOKENS = 1_100
# One for all chats of an owner, and for no other program's sessions.
AGENT = "chat"
HISTORY = "history"


def furnish(sessions: SessionManager, *, has_tools: bool) -> SessionManager:
    """Give the sessions a block that the model writes, and the tools for it.

    Without tools it only reads what is there.
    """
    sessions.with_context(
        MEMORY,
        description="What to remember of this user in all conversations",
        max_tokens=MEMORY_TOKENS,
        scope="agent",
        agent=AGENT,
        readonly=not has_tools,
    )
    return sessions.with_searchable_history(HISTORY) if has_tools else sessions
