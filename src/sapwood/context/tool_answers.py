"""The sentences with which tools answer, where others have to know them again."""

from __future__ import annotations

REFUSED = "Error: "


def not_found(label: str, key: str) -> str:
    """Return the sentence that a block has no such entry."""
    return f"{REFUSED}'{label}' has no entry {key!r:.200}."


def elided(key: str) -> str:
    """Stand in for an entry's text that is not loaded any more."""
    return f"[{key!r} was unloaded; load it again to read it]"


def loaded_later(key: str) -> str:
    """Stand in for an entry's text that was loaded again."""
    return f"[{key!r} was loaded again; its text is further down]"
