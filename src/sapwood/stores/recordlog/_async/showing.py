"""What a session is shown at a leaf: overlays, pins, and the sum of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....errors import StoreCorruptError
from ....rules.tree import Place, Span
from ..fold import PINS
from ..pins import pinned_ids
from ..rows import Row
from ..state import Laid
from ..view import Piece, View
from .desk import AsyncDesk
from .documents import is_expired, value_of
from .rows import rows_at
from .spots import find_spots


class Shown(NamedTuple):
    """An overlay that is shown, and the pinned messages shown after it."""

    laid: Laid
    pinned: list[Row]


async def show(
    desk: AsyncDesk, view: View, leaf: Place | None, *, strict: bool = False
) -> list[Span | Shown]:
    """Give what is shown at a leaf, from the leaf up."""
    pieces = view.resolve(leaf)
    pins: list[Row] = []
    if any(isinstance(piece, Laid) for piece in pieces):
        pins = await find_pins(desk, view, strict=strict)
    return [it if isinstance(it, Span) else Shown(it, _under(view, it, pins)) for it in pieces]


def _under(view: View, laid: Laid, pins: Sequence[Row]) -> list[Row]:
    return [
        row
        for row in pins
        if row.place.depth >= laid.first.depth and view.on_path(row.place, laid.last)
    ]


async def find_pins(desk: AsyncDesk, view: View, *, strict: bool = False) -> list[Row]:
    """Give the live messages that a session pins, by depth.

    Pins that cannot be read are an error when it is `strict`, and none otherwise.
    """
    kept = view.own.documents.get(PINS)
    if kept is None or is_expired(kept, await desk.now()):
        return []
    value = await value_of(desk, view.own, PINS)
    try:
        ids = pinned_ids(value, view.own.session)
    except StoreCorruptError:
        if strict:
            raise
        return []
    spots = await find_spots(desk, view.own, ids)
    rows = await rows_at(desk, view, list(spots.values()))
    live = [row for row in rows.values() if row.body is not None]
    return sorted(live, key=lambda row: row.place.depth)


def sum_of(view: View, shown: Sequence[Span | Shown], base: int) -> int:
    """Sum the tokens of what is shown at a leaf, whose running sum is `base`."""
    pieces: list[Piece] = [it if isinstance(it, Span) else it.laid for it in shown]
    pinned = [row.tokens for it in shown if isinstance(it, Shown) for row in it.pinned]
    return view.tokens(pieces, base) + sum(pinned)


async def context_at(desk: AsyncDesk, view: View, leaf: Place | None, base: int) -> int:
    """Sum the tokens of what a session is shown at a leaf."""
    return sum_of(view, await show(desk, view, leaf), base)
