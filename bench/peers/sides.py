"""The packages by name; one is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from peer import Peer

PEERS = {
    "openai-agents SQLiteSession": "with_openai:SqliteSessions",
    "openai-agents AdvancedSQLiteSession": "with_openai:AdvancedSessions",
    "google-adk SqliteSessionService": "with_adk:AdkSessions",
    "langgraph AsyncSqliteSaver": "with_langgraph:LanggraphSaver",
    "agno SqliteDb": "with_agno:AgnoDb",
    "pydantic-ai Agent": "with_pydantic_ai:PydanticAgent",
}


def peer_class(place: str) -> type[Peer]:
    """Return the class at `module:name`."""
    module, name = place.split(":")
    found: type[Peer] = getattr(import_module(module), name)
    return found
