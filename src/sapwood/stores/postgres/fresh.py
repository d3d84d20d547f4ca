"""Messages that are about to be written, as columns for the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...rules.codec import Packed
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
