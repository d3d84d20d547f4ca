"""Messages that are about to be written: as rows, and as they are given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Message
from ...rules.codec import Packed
from ..relational.position import DEPTH_BITS, MAX_DEPTH


def said_at(it: Packed, now: int) -> int:
    """Give the time of a message."""
    return now if it.created_us is None else it.created_us


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


def written(batch: Sequence[Packed], session: str, first: int, now: int) -> list[Message]:
    """Give messages as they were written from a position on."""
    segment, depth = str(first >> DEPTH_BITS), first & MAX_DEPTH
    return [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            segment=segment,
            depth=depth + index,
            home=session,
            tokens=it.tokens,
            version=1,
            created_us=said_at(it, now),
        )
        for index, it in enumerate(batch)
    ]
