"""Cuts in a history that leave tool calls with their results.

A cut at `index` stands before `entries[index]`; one at `len(entries)` stands at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Entry
from ..rules import check
from .cut_points import allowed_cuts
from .estimate import EntryCounter, entry_tokens


def align_forward(entries: Sequence[Entry], index: int) -> int:
    """Move a cut towards the end until no call is before it whose result is after it.

    A result belongs to the nearest call before it with its id. Nothing after a call in flight may
    be cut off from it: then, this is the end. Idempotent.
    """
    check.count(index, "index", 0, len(entries))
    allowed = allowed_cuts(entries)
    return next((cut for cut in range(index, len(entries)) if allowed[cut]), len(entries))


def align_backward(entries: Sequence[Entry], index: int) -> int:
    """Move a cut towards the start until no call is before it whose result is after it.

    A call in flight, and so all that follows it, is after the cut. Idempotent.
    """
    check.count(index, "index", 0, len(entries))
    allowed = allowed_cuts(entries)
    return next(cut for cut in range(index, -1, -1) if allowed[cut])


def find_tail_cut(
    entries: Sequence[Entry],
    start: int,
    budget: int,
    min_messages: int,
    counter: EntryCounter | None = None,
) -> int:
    """Find where the tail begins that is to be left as it is, at `start` or later.

    The tail is as long as its tokens allow, and at least so many entries: whichever is larger.
    The last entry is in it even when it alone is over the budget. The cut is aligned backward,
    which may take it before a `start` that is not aligned.
    """
    check.count(start, "start", 0, len(entries))
    check.count(budget, "budget", 0)
    check.count(min_messages, "min_messages", 0)
    by_count = len(entries) - max(min_messages, 1)
    cut = min(by_count, _cut_by_tokens(entries, start, budget, counter))
    return align_backward(entries, max(cut, start))


def _cut_by_tokens(
    entries: Sequence[Entry], start: int, budget: int, counter: EntryCounter | None
) -> int:
    cut, total = len(entries), 0
    while cut > start:
        total += entry_tokens(entries[cut - 1], counter)
        if total > budget:
            break
        cut -= 1
    return cut
