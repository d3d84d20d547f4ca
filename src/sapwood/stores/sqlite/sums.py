"""How full the context is, without reading the history.

The tokens on a path are the `path_tokens` of its end plus the edits on it. What a session shows
is that, less what lies under overlays, plus the summaries and the pins shown with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice

from ...errors import StoreCorruptError
from ...rules.overlay import Cover, resolve_up
from ...rules.tree import Place, Span, is_on_path, spans_up
from .connection import Connection
from .lookup import SessionRow, find_seen
from .position import MAX_DEPTH, bounds, pack_place, unpack_place

PINS_KEY = "pins"

_DEEPEST = (
    "SELECT f.overlay, o.first, o.last FROM in_force f JOIN overlay o ON o.number = f.overlay"
    " WHERE f.session = ? AND f.last BETWEEN ? AND ?"
    " ORDER BY f.last DESC, f.first_depth ASC, f.overlay DESC LIMIT 1"
)


def visible(tx: Connection, session: SessionRow, leaf: int) -> Iterator[Span | Cover]:
    """Give what a session shows at a leaf, from the leaf upwards."""
    place = unpack_place(leaf)
    if not session.overlays:
        return spans_up(place, tx.lineage)

    def deepest(span: Span) -> Cover | None:
        row = tx.row(_DEEPEST, (session.number, *bounds(span)))
        if row is None:
            return None
        number, first, last = row
        return Cover(number, _place(first), _place(last))

    return resolve_up(place, tx.lineage, deepest)


def _place(pos: int) -> Place:
    return Place(pos >> 24, pos & MAX_DEPTH)


def context_at(
    tx: Connection, session: SessionRow, leaf: int, most_steps: int | None = None
) -> int | None:
    """Sum the tokens shown at a leaf; None when that takes more than `most_steps`."""
    items = visible(tx, session, leaf)
    if most_steps is None:
        return sum_of(tx, session, items)
    few = list(islice(items, most_steps + 1))
    return None if len(few) > most_steps else sum_of(tx, session, few)


def sum_of(tx: Connection, session: SessionRow, items: Iterable[Span | Cover]) -> int:
    """Sum the tokens of visible items, given from the leaf upwards to the root."""
    total = 0
    open_end = 0
    for item in items:
        if isinstance(item, Cover):
            if open_end:
                total += path_tokens(tx, open_end) - path_tokens(tx, pack_place(item.last))
            open_end = 0
            total += tx.value("SELECT tokens FROM overlay WHERE number = ?", (item.number,))
            total += sum(_pinned_tokens(tx, session, item))
            continue
        first, last = bounds(item)
        open_end = open_end or last
        if session.edited:
            total += _deltas(tx, first, last)
    return total + path_tokens(tx, open_end)


def path_tokens(tx: Connection, pos: int) -> int:
    """Give a message's running sum; 0 at the root."""
    if not pos:
        return 0
    found: int | None = tx.value("SELECT path_tokens FROM message WHERE pos = ?", (pos,))
    if found is None:
        raise StoreCorruptError(f"the message at position {pos} is missing")
    return found


def _deltas(tx: Connection, first: int, last: int) -> int:
    found: int = tx.value(
        "SELECT coalesce(sum(delta), 0) FROM edit WHERE pos BETWEEN ? AND ?", (first, last)
    )
    return found


def _pinned_tokens(tx: Connection, session: SessionRow, cover: Cover) -> list[int]:
    try:
        pinned = pinned_under(tx, session, cover)
    except StoreCorruptError:
        # Reading says what is wrong; a sum must not stop a write.
        return []
    return [tx.value("SELECT tokens FROM message WHERE pos = ?", (pos,)) for pos in pinned]


def pinned_under(tx: Connection, session: SessionRow, cover: Cover) -> list[int]:
    """Give the positions of the live pinned messages that an overlay covers, by depth."""
    found = []
    for id in pinned_ids(tx, session):
        seen = find_seen(tx, session, id)
        place = unpack_place(seen.pos) if seen and seen.digest is not None else None
        if place is None or not cover.first.depth <= place.depth <= cover.last.depth:
            continue
        if is_on_path(place, cover.last, tx.lineage):
            found.append(pack_place(place))
    return sorted(set(found), key=lambda pos: pos & MAX_DEPTH)


def pinned_ids(tx: Connection, session: SessionRow) -> list[str]:
    """Give the ids in a session's document of pins."""
    data = tx.value(
        "SELECT value FROM document WHERE owner = ? AND session = ? AND key = ?"
        " AND (expires_at IS NULL OR expires_at > ?)",
        (session.owner, session.number, PINS_KEY, tx.clock()),
    )
    if data is None:
        return []
    try:
        ids = json.loads(data)
    except ValueError as error:
        raise StoreCorruptError(f"the pins of session {session.id!r} are not JSON") from error
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise StoreCorruptError(f"the pins of session {session.id!r} are not a list of ids")
    return ids


def is_stale(tx: Connection, session: SessionRow) -> bool:
    """Tell whether a message that the session shares was changed through another one."""
    return bool(tx.value("SELECT 1 FROM stale WHERE tree = ?", (session.tree,)))


def renew_context(tx: Connection, session: SessionRow) -> int:
    """Work out a session's context at its tip, and keep it."""
    context = context_at(tx, session, session.tip)
    assert context is not None
    tx.run("UPDATE session SET context = ? WHERE number = ?", (context, session.number))
    return context
