"""Messages that are about to be written: as columns for the server, and as they are given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Message
from ...rules.codec import Packed
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from .words import body_words


def columns(batch: Sequence[Packed]) -> list[list[Any]]:
    """Give ids, roles, tokens, times, bodies and words, each as a list."""
    return [
        [it.id for it in batch],
        [it.role for it in batch],
        [it.tokens for it in batch],
        [it.created_us for it in batch],
        [it.body for it in batch],
        [body_words(it.body, it.id) for it in batch],
    ]


COLUMN_TYPES = "%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bytea[], %s::text[]"


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
            created_us=now if it.created_us is None else it.created_us,
        )
        for index, it in enumerate(batch)
    ]
