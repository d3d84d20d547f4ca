"""How a place in a tree is named to a script."""

from __future__ import annotations

from ...model import Root


def place_words(place: str | Root | None) -> tuple[str, str]:
    """Return how a place is named, and its message: the tip for None, the root, or a message."""
    if place is None:
        return "", ""
    return ("r", "") if isinstance(place, Root) else ("m", place)
