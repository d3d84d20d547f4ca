"""The tools that a model may call while it answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...errors import UsageError
from ...model import Hit, ToolDefinition
from ...session import Session
from ..text import clean

SEARCH = ToolDefinition(
    name="session_search",
    description="Search what was said before in this conversation, also long ago. Words, "
    '"phrases", OR, NOT and prefix* are understood.',
    schema={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
MOST_HITS = 5


def call_tool(session: Session, name: str, given: Any, *, without: Collection[str]) -> str:
    """Call a tool; what is wrong is told to the model in words, never raised.

    The messages `without` which it is answered are those that asked for it.
    """
    if name != SEARCH.name:
        return f"There is no tool {name!r}. There is {SEARCH.name!r}."
    query = given.get("query") if isinstance(given, dict) else None
    if not isinstance(query, str):
        return 'The input must be a JSON object with the text "query".'
    try:
        hits = session.search(query, limit=MOST_HITS + len(without)).hits
    except UsageError as error:
        return f"That cannot be searched for: {error}"
    old = [hit for hit in hits if hit.entry.id not in without][:MOST_HITS]
    return "\n".join(map(_line, old)) if old else "Nothing was found."


def _line(hit: Hit) -> str:
    return f"{hit.role}, {hit.created_at:%Y-%m-%d %H:%M}: {clean(hit.snippet)}"
