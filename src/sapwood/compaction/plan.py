"""Which entries of a history the next summary covers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..model import Entry, Summary
from ..rules import check
from .cut_points import align_backward, align_forward, find_tail_cut
from .estimate import EntryCounter, entry_tokens, history_tokens

PROTECT_HEAD = 3
TAIL_TOKEN_BUDGET = 20_000
MIN_TAIL_MESSAGES = 2
HEAD_TOKEN_BUDGET = 20_000


class CompactionRange(msgspec.Struct, frozen=True, kw_only=True):
    """The entries from index `first` to index `last`, both included."""

    first: int
    last: int


def choose_range(
    entries: Sequence[Entry],
    *,
    protect_head: int = PROTECT_HEAD,
    tail_token_budget: int = TAIL_TOKEN_BUDGET,
    min_tail_messages: int = MIN_TAIL_MESSAGES,
    head_token_budget: int = HEAD_TOKEN_BUDGET,
    counter: EntryCounter | None = None,
) -> CompactionRange | None:
    """Choose what lies between the head and the tail; None when that is not worth a summary.

    The head is the first `protect_head` entries, as far as `head_token_budget` goes, and ends at
    the first summary: so the next range begins with the last summary, and there is only ever one
    however often this is repeated. For the tail see `find_tail_cut`. No call is parted from its
    result, and no call in flight is covered.
    """
    check_sizes(
        protect_head=protect_head,
        tail_token_budget=tail_token_budget,
        min_tail_messages=min_tail_messages,
        head_token_budget=head_token_budget,
    )
    start = _head_end(entries, protect_head, head_token_budget, counter)
    end = find_tail_cut(entries, start, tail_token_budget, min_tail_messages, counter)
    if end <= start or (end == start + 1 and isinstance(entries[start], Summary)):
        return None
    return CompactionRange(first=start, last=end - 1)


def check_sizes(**sizes: int) -> None:
    """Refuse what is no number of entries or of tokens; the keywords name it in the error."""
    for name, size in sizes.items():
        check.count(size, name, 0)


def _head_end(
    entries: Sequence[Entry], protect: int, budget: int, counter: EntryCounter | None
) -> int:
    end, total = 0, 0
    for entry in entries[:protect]:
        total += entry_tokens(entry, counter)
        if isinstance(entry, Summary) or total > budget:
            break
        end += 1
    longer = align_forward(entries, end)
    added = entries[end:longer]
    # A head that reached over a summary, or grew with every late result, would never be covered.
    is_too_long = any(isinstance(entry, Summary) for entry in added) or (
        added and history_tokens(entries[:longer], counter) > budget
    )
    return align_backward(entries, end) if is_too_long else longer
