"""What a session shows at a leaf, and how full the context is, without reading the history.

The tokens on a path are the `path_tokens` of its end plus the edits on it. What a session shows
is that, less what lies under overlays, plus the summaries and the pins shown with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import islice

from ...errors import StoreCorruptError
from ...rules.tree import Cover, Span, place_before, resolve_up, spans_up
from ..relational._sync.sums import SumStatements
from ..relational.position import MAX_DEPTH, bounds, pack_place, place_of, unpack_place
from ..relational.rows import DOCUMENT_VALUE, OVERLAY_TOKENS, PINS_KEY, Row, SessionRow, pinned_ids
from ..relational.walk import pins_under
from .connection import Connection
from .documents import FIND_DOCUMENT, document_of
from .lookup import find_seen
from .rows import OVERLAY_COLUMNS, missing_overlay

_DEEPEST = (
    f"SELECT f.shown, {OVERLAY_COLUMNS}"
    " FROM in_force f LEFT JOIN overlay o ON o.number = f.overlay"
    " WHERE f.session = ? AND f.last BETWEEN ? AND ?"
    " ORDER BY f.last DESC, f.first_depth ASC, f.overlay DESC LIMIT 1"
)
_Met = list[tuple[int, Cover]]
"""Overlays on the way up, each with the sum of what is shown below it."""


class SqliteView:
    """A session's way of seeing its tree; whatever it looks up, it looks up once."""

    def __init__(self, tx: Connection, session: SessionRow) -> None:
        self.tx = tx
        self.session = session
        self.lineage = cache(tx.lineage)
        self._shown: dict[int, int | None] = {}

    def visible(self, leaf: int) -> Iterator[Span | Cover]:
        """Iterate over what is shown at a leaf, from the leaf upwards."""
        place = unpack_place(leaf)
        if not self.session.overlays:
            return spans_up(place, self.lineage)
        return resolve_up(place, self.lineage, self._deepest)

    def _deepest(self, span: Span) -> Cover | None:
        row = self.tx.row(_DEEPEST, (self.session.number, *bounds(span)))
        if row is None:
            return None
        shown, *overlay = row
        number, _, first, last = overlay[:4]
        if number is None:
            raise missing_overlay(self.session.id)
        self._shown[number] = shown
        return Cover(number, place_of(first), place_of(last), tuple(overlay))

    def shown(self, cover: Cover) -> int | None:
        """Return the tokens shown from the root to an overlay's end, if they are kept and hold."""
        shown = self._shown[cover.number]
        return shown if shown is not None and self.is_plain else None

    @cached_property
    def is_plain(self) -> bool:
        """Whether nothing in the tree was edited, and nothing is pinned: kept sums hold."""
        if self.session.edited:
            return False
        found = self._pins_document()
        return found is None or found[DOCUMENT_VALUE] == b"[]"

    def pinned_tokens(self, cover: Cover) -> int:
        """Sum the tokens of the live pinned messages that an overlay covers."""
        try:
            pinned = pins_under(self._pins, cover, self.lineage)
        except StoreCorruptError:
            # Reading says what is wrong; a sum must not stop a write.
            return 0
        return sum(
            self.tx.value("SELECT tokens FROM message WHERE pos = ?", (it,)) for it in pinned
        )

    @cached_property
    def _pins(self) -> list[int]:
        found = self._pins_document()
        ids = [] if found is None else pinned_ids(document_of(found).value, self.session.id)
        seen = (find_seen(self.tx, self.session, id) for id in ids)
        return [it.pos for it in seen if it and it.is_live]

    def _pins_document(self) -> Row | None:
        session = self.session
        found: Row | None = self.tx.row(
            f"{FIND_DOCUMENT} AND (expires_at IS NULL OR expires_at > ?)",
            (session.owner, session.number, PINS_KEY, self.tx.clock()),
        )
        return found


def context_at(
    tx: Connection, session: SessionRow, leaf: int, most_steps: int | None = None
) -> int | None:
    """Sum the tokens shown at a leaf; None when that takes more than `most_steps`."""
    if not session.overlays and not session.edited:
        return path_tokens(tx, leaf)
    view = SqliteView(tx, session)
    items = view.visible(leaf)
    if most_steps is None:
        return _sum(view, items, [])
    few = list(islice(items, most_steps + 1))
    covers = (it for it in few if isinstance(it, Cover))
    if len(few) <= most_steps or any(view.shown(it) is not None for it in covers):
        return _sum(view, few, [])
    return None


def keep_context_at(tx: Connection, session: SessionRow, leaf: int) -> int:
    """Sum the tokens shown at a leaf, and keep those shown at each overlay on the way.

    So the next sum goes up to the first of them, and no further.
    """
    if not session.overlays and not session.edited:
        return path_tokens(tx, leaf)
    view, met = SqliteView(tx, session), _Met()
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
    """Return the session's overlays at which another sum is kept than what is shown there."""
    rows = tx.rows(
        "SELECT o.number, o.first, o.tokens, f.shown FROM in_force f"
        " JOIN overlay o ON o.number = f.overlay WHERE f.session = ? AND f.shown IS NOT NULL",
        (session.number,),
    )
    if rows and SqliteView(tx, session).is_plain:
        for number, first, tokens, shown in rows:
            above = pack_place(place_before(place_of(first), tx.lineage))
            if tokens + (context_at(tx, session, above) or 0) != shown:
                yield number


def _sum(view: SqliteView, items: Iterable[Span | Cover], met: _Met) -> int:
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
            total += item.row[OVERLAY_TOKENS] + view.pinned_tokens(item)
            continue
        first, last = bounds(item)
        open_end = open_end or last
        if view.session.edited:
            total += deltas_between(tx, first, last)
    return total + path_tokens(tx, open_end)


def path_tokens(tx: Connection, pos: int) -> int:
    """Return a message's running sum; 0 at the root."""
    if not pos:
        return 0
    found: int | None = tx.value("SELECT path_tokens FROM message WHERE pos = ?", (pos,))
    if found is None:
        raise StoreCorruptError(f"the message at position {pos} is missing")
    return found


def deltas_between(tx: Connection, first: int, last: int) -> int:
    """Sum the edits between two positions of a segment."""
    sql = "SELECT coalesce(sum(delta), 0) FROM edit WHERE pos BETWEEN ? AND ?"
    return int(tx.value(sql, (first, last)))


def renew_context(tx: Connection, session: SessionRow) -> None:
    """Work out a session's context at its tip; keep it, and how many overlays its row has."""
    lead = keep_context_at(tx, session, session.tip) - path_tokens(tx, session.tip)
    sql = "UPDATE session SET lead = ?, overlays = ? WHERE number = ?"
    tx.run(sql, (lead, session.overlays, session.number))


class SqliteSumStatements(SumStatements[Connection]):
    """Statements about what a session shows."""

    def visible(self, session: SessionRow, leaf: int) -> Iterator[Span | Cover]:
        return SqliteView(self._tx, session).visible(leaf)

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
