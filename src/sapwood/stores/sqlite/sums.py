"""How full the context is, without reading the history.

The tokens on a path are the `path_tokens` of its end plus the edits on it. What a session shows
is that, less what lies under overlays, plus the summaries and the pins shown with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ...errors import StoreCorruptError
from ...rules.overlay import Cover
from ...rules.tree import Span
from .connection import Connection
from .lookup import SessionRow
from .position import bounds, pack_place
from .rows import TOKENS_IN_OVERLAY
from .view import View


def context_at(
    tx: Connection, session: SessionRow, leaf: int, most_steps: int | None = None
) -> int | None:
    """Sum the tokens shown at a leaf; None when that takes more than `most_steps`."""
    if not session.overlays and not session.edited:
        return path_tokens(tx, leaf)
    view = View(tx, session)
    items = view.visible(leaf)
    if most_steps is None:
        return sum_of(view, items)
    few = list(islice(items, most_steps + 1))
    return None if len(few) > most_steps else sum_of(view, few)


def sum_of(view: View, items: Iterable[Span | Cover]) -> int:
    """Sum the tokens of visible items, given from the leaf upwards to the root."""
    tx, total, open_end = view.tx, 0, 0
    for item in items:
        if isinstance(item, Cover):
            if open_end:
                total += path_tokens(tx, open_end) - path_tokens(tx, pack_place(item.last))
            open_end = 0
            total += view.overlay(item)[TOKENS_IN_OVERLAY] + _pinned_tokens(view, item)
            continue
        first, last = bounds(item)
        open_end = open_end or last
        if view.session.edited:
            total += deltas_between(tx, first, last)
    return total + path_tokens(tx, open_end)


def path_tokens(tx: Connection, pos: int) -> int:
    """Give a message's running sum; 0 at the root."""
    if not pos:
        return 0
    found: int | None = tx.value("SELECT path_tokens FROM message WHERE pos = ?", (pos,))
    if found is None:
        raise StoreCorruptError(f"the message at position {pos} is missing")
    return found


def deltas_between(tx: Connection, first: int, last: int) -> int:
    """Sum the edits between two positions of a segment."""
    found: int = tx.value(
        "SELECT coalesce(sum(delta), 0) FROM edit WHERE pos BETWEEN ? AND ?", (first, last)
    )
    return found


def _pinned_tokens(view: View, cover: Cover) -> int:
    try:
        pinned = view.pinned_under(cover)
    except StoreCorruptError:
        # Reading says what is wrong; a sum must not stop a write.
        return 0
    return sum(view.tx.value("SELECT tokens FROM message WHERE pos = ?", (pos,)) for pos in pinned)


def renew_context(tx: Connection, session: SessionRow) -> int:
    """Work out a session's context at its tip, and keep it."""
    context = context_at(tx, session, session.tip)
    assert context is not None
    lead = context - path_tokens(tx, session.tip)
    tx.run("UPDATE session SET lead = ? WHERE number = ?", (lead, session.number))
    return context
