"""Messages that are missing from what was read.

Positions on a path are contiguous in depth, and a deleted message keeps its own. So a row that was
lost shows as a depth that nothing has, and a history is never just shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import StoreCorruptError
from .tree import Place, Span


def first_missing(runs: Iterable[tuple[int, int]], first: int, last: int) -> int | None:
    """Return the first depth of a range that no run has; None when all of them are there.

    Runs include both their ends and come by depth; they may reach over the ends of the range.
    """
    for begin, end in runs:
        if begin > first:
            break
        first = max(first, end + 1)
    return first if first <= last else None


def gone_over(spans: Sequence[Span], stopped_at: Place, *, backwards: bool) -> list[Span]:
    """Return what a read has gone over, of spans in its order, when it stopped after a position."""
    done: list[Span] = []
    for span in spans:
        if span.segment == stopped_at.segment and span.first <= stopped_at.depth <= span.last:
            end = {"first" if backwards else "last": stopped_at.depth}
            return [*done, span._replace(**end)]
        done.append(span)
    return done


def refuse_missing(runs: Iterable[tuple[int, int]], first: int, last: int, session: str) -> None:
    """Raise `StoreCorruptError` when a depth of a range is missing."""
    depth = first_missing(runs, first, last)
    if depth is not None:
        raise StoreCorruptError(
            f"the message at depth {depth} of session {session!r} is missing from the store: "
            "it can only come back from a backup"
        )
