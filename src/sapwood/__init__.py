"""sapwood: the session and memory layer for AI agents."""
