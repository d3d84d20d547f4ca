"""Which entries of a history the next summary covers, and where a history may be cut for it.

Not between a call and its result, nor after a call in flight. A cut at `index` stands before
`entries[index]`; one at `len(entries)` stands at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import msgspec

from ..model import Entry, Message, Summary, ToolCallPart, ToolResultPart
from ..rules import check
from .estimate import EntryCounter, entry_tokens, history_tokens

PROTECT_HEAD = 3
TAIL_TOKEN_BUDGET = 20_000
MIN_TAIL_MESSAGES = 2
HEAD_TOKEN_BUDGET = 20_000
IN_FLIGHT_REPLIES = 8
"""So many further replies of the model a call may wait for its result; then it was given up."""


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


def allowed_cuts(entries: Sequence[Entry]) -> list[bool]:
    """Return for each index whether a cut before it parts nothing; the last is the end.

    The pins of a summary tie nothing: they are shown after whatever covers the summary.
    """
    ties, in_flight = _ties_of(entries)
    changes = [0] * (len(entries) + 2)
    for call, result in ties:
        changes[call + 1] += 1
        changes[result + 1] -= 1
    if in_flight is not None:
        changes[in_flight + 1] += 1
    return [spanning == 0 for spanning in accumulate(changes[:-1])]


def first_in_flight(entries: Sequence[Entry]) -> int | None:
    """Find the first entry with a call whose result, or approval, is still to come.

    A call waits until the model has begun `IN_FLIGHT_REPLIES` more replies without the result, or
    has used its id for another call: one that was interrupted must not hold up compaction for ever.
    """
    return _ties_of(entries)[1]


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
    cut, total = len(entries), 0
    while cut > start:
        total += entry_tokens(entries[cut - 1], counter)
        if total > budget:
            break
        cut -= 1
    return align_backward(entries, max(min(by_count, cut), start))


def _ties_of(entries: Sequence[Entry]) -> tuple[list[tuple[int, int]], int | None]:
    replies = _replies(entries)
    ties: list[tuple[int, int]] = []
    caller: dict[str, int] = {}
    answered: set[str] = set()
    for index, entry in enumerate(entries):
        for part in entry.parts if isinstance(entry, Message) else ():
            if isinstance(part, ToolCallPart):
                caller[part.call_id] = index
                answered.discard(part.call_id)
            elif isinstance(part, ToolResultPart) and part.call_id in caller:
                call = caller[part.call_id]
                # A result that is sent again and again must not tie up all that follows.
                if (
                    part.call_id not in answered
                    or replies[index] - replies[call] < IN_FLIGHT_REPLIES
                ):
                    ties.append((call, index))
                answered.add(part.call_id)
    waiting = [
        index
        for id, index in caller.items()
        if id not in answered and replies[-1] - replies[index] < IN_FLIGHT_REPLIES
    ]
    return ties, min(waiting, default=None)


def _replies(entries: Sequence[Entry]) -> list[int]:
    """Count, for each entry and then for the end, the replies that the model has begun up to it."""
    roles = {
        entry.role
        for entry in entries
        if isinstance(entry, Message)
        and any(isinstance(part, ToolCallPart) for part in entry.parts)
    }
    replies, count, speaking = [], 0, False
    for entry in entries:
        spoke, speaking = speaking, _is_said_by(entry, roles)
        count += speaking and not spoke
        replies.append(count)
    return [*replies, count]


def _is_said_by(entry: Entry, roles: set[str]) -> bool:
    # Some clients write results under the model's own role: those are no reply.
    if isinstance(entry, Summary) or entry.role not in roles:
        return False
    return not all(isinstance(part, ToolResultPart) for part in entry.parts)
