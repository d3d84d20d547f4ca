"""How full the context is, without reading the history.

The tokens on a path are the `path_tokens` of its end plus the edits on it. What a session shows
is that, less what lies under overlays, plus the summaries and the pins shown with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ...errors import StoreCorruptError
from ...rules.overlay import Cover
from ...rules.tree import Span, place_before
from ..relational._sync.sums import SumStatements
from ..relational.position import MAX_DEPTH, bounds, pack_place, unpack_place
from ..relational.rows import OVERLAY_TOKENS, SessionRow
from ..relational.walk import pins_under
from .connection import Connection
from .view import View

_Met = list[tuple[int, Cover]]
"""Overlays on the way up, each with the sum of what is shown below it."""


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
    return sum_of(view, few) if len(few) <= most_steps or _is_kept(view, few) else None


def keep_context_at(tx: Connection, session: SessionRow, leaf: int) -> int:
    """Sum the tokens shown at a leaf, and keep those shown at each overlay on the way.

    So the next sum goes up to the first of them, and no further.
    """
    if not session.overlays and not session.edited:
        return path_tokens(tx, leaf)
    view, met = View(tx, session), _Met()
    total = _sum(view, view.visible(leaf), met)
    if view.is_plain:
        tx.run_many(
            "UPDATE in_force SET shown = ?"
            " WHERE session = ? AND last = ? AND first_depth = ? AND overlay = ?",
            [
                (total - below, session.number, pack_place(it.last), it.first.depth, it.number)
                for below, it in met
            ],
        )
    return total


def forget_shown_below(tx: Connection, session: int, pos: int) -> None:
    """Forget what is shown at a session's overlays that end deeper than a position."""
    tx.run(
        "UPDATE in_force SET shown = NULL"
        " WHERE session = ? AND last & 0xffffff > ? AND shown IS NOT NULL",
        (session, pos & MAX_DEPTH),
    )


def overlays_with_wrong_sums(tx: Connection, session: SessionRow) -> Iterator[int]:
    """Give the session's overlays at which another sum is kept than what is shown there."""
    rows = tx.rows(
        "SELECT o.number, o.first, o.tokens, f.shown FROM in_force f"
        " JOIN overlay o ON o.number = f.overlay WHERE f.session = ? AND f.shown IS NOT NULL",
        (session.number,),
    )
    if rows and View(tx, session).is_plain:
        for number, first, tokens, shown in rows:
            if tokens + (context_at(tx, session, _before(tx, first)) or 0) != shown:
                yield number


def _before(tx: Connection, pos: int) -> int:
    place = unpack_place(pos)
    assert place is not None
    return pack_place(place_before(place, tx.lineage))


def sum_of(view: View, items: Iterable[Span | Cover]) -> int:
    """Sum the tokens of visible items, given from the leaf upwards to the root."""
    return _sum(view, items, [])


def _sum(view: View, items: Iterable[Span | Cover], met: _Met) -> int:
    tx, total, open_end = view.tx, 0, 0
    for item in items:
        if isinstance(item, Cover):
            if open_end:
                total += path_tokens(tx, open_end) - path_tokens(tx, pack_place(item.last))
            open_end = 0
            shown = view.shown(item)
            if shown is not None:
                return total + shown
            met.append((total, item))
            total += item.row[OVERLAY_TOKENS] + _pinned_tokens(view, item)
            continue
        first, last = bounds(item)
        open_end = open_end or last
        if view.session.edited:
            total += deltas_between(tx, first, last)
    return total + path_tokens(tx, open_end)


def _is_kept(view: View, items: Iterable[Span | Cover]) -> bool:
    return any(isinstance(it, Cover) and view.shown(it) is not None for it in items)


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


def renew_context(tx: Connection, session: SessionRow) -> None:
    """Work out a session's context at its tip; keep it, and how many overlays its row has."""
    lead = keep_context_at(tx, session, session.tip) - path_tokens(tx, session.tip)
    sql = "UPDATE session SET lead = ?, overlays = ? WHERE number = ?"
    tx.run(sql, (lead, session.overlays, session.number))


class SqliteSumStatements(SumStatements[Connection]):
    """Statements about what a session shows."""

    def visible(self, session: SessionRow, leaf: int) -> Iterator[Span | Cover]:
        return View(self._tx, session).visible(leaf)

    def pins_under(self, session: SessionRow, pins: list[int], cover: Cover) -> list[int]:
        return pins_under(pins, cover, self._tx.lineage)

    def context_at(self, session: SessionRow, leaf: int) -> int:
        found = context_at(self._tx, session, leaf)
        assert found is not None
        return found

    def keep_context_at(self, session: SessionRow, leaf: int) -> int:
        return keep_context_at(self._tx, session, leaf)

    def renew_context(self, session: SessionRow) -> None:
        renew_context(self._tx, session)
