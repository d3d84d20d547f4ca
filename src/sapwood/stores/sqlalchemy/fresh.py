"""Messages that are about to be written, as rows."""

from __future__ import annotations

from typing import Any

from ...rules.codec import Packed
from ..relational.rows import said_at


def message_row(
    it: Packed, *, owner: int, tree: int, pos: int, home: int, running: int, now: int
) -> dict[str, Any]:
    """Give a new message's row."""
    return {
        "tree": tree,
        "pos": pos,
        "owner": owner,
        "home": home,
        "id": it.id,
        "role": it.role,
        "tokens": it.tokens,
        "path_tokens": running,
        "version": 1,
        "created_at": said_at(it, now),
        "body": it.body,
    }
