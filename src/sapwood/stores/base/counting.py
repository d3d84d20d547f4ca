"""An owner's statistics, of what a store has counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...model import CHAT, SessionCount, Statistics


def statistics_of(
    sessions: Iterable[Sequence[Any]], messages: int, overlays: int, documents: int
) -> Statistics:
    """Return statistics; sessions are counted by kind and state, maybe in several parts."""
    counted: dict[tuple[str, str], int] = {}
    for kind, state, count in sessions:
        counted[kind, state] = counted.get((kind, state), 0) + count
    counts = [
        SessionCount(kind=kind, state=state, sessions=count)
        for (kind, state), count in sorted(counted.items())
    ]
    return Statistics(
        sessions=sum(it.sessions for it in counts if it.kind == CHAT),
        messages=messages,
        overlays=overlays,
        documents=documents,
        counts=counts,
    )
