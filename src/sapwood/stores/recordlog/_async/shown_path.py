"""What a session is shown at a leaf: overlays, pins, and the sum of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....errors import StoreCorruptError
from ....rules.tree import Place, Span
from ..fold import PINS
from ..pins import pinned_ids
from ..rows import LogRow
from ..state import LaidOverlay
from ..view import LogView, ViewPiece
from .documents import is_expired, value_of
from .logs import AsyncLogs
from .message_places import find_places
from .rows import rows_at


class ShownOverlay(NamedTuple):
    """An overlay that is shown, and the pinned messages shown after it."""

    laid: LaidOverlay
    pinned: list[LogRow]


async def show(
    logs: AsyncLogs, view: LogView, leaf: Place | None, *, strict: bool = False
) -> list[Span | ShownOverlay]:
    """Return what is shown at a leaf, from the leaf up."""
    pieces = view.resolve(leaf)
    pins: list[LogRow] = []
    if any(isinstance(piece, LaidOverlay) for piece in pieces):
        pins = await find_pins(logs, view, strict=strict)
    return [
        it if isinstance(it, Span) else ShownOverlay(it, _under(view, it, pins)) for it in pieces
    ]


def _under(view: LogView, laid: LaidOverlay, pins: Sequence[LogRow]) -> list[LogRow]:
    return [
        row
        for row in pins
        if row.place.depth >= laid.first.depth and view.on_path(row.place, laid.last)
    ]


async def find_pins(logs: AsyncLogs, view: LogView, *, strict: bool = False) -> list[LogRow]:
    """Return the live messages that a session pins, by depth.

    Pins that cannot be read are an error when it is `strict`, and none otherwise.
    """
    kept = view.own.documents.get(PINS)
    if kept is None or is_expired(kept, await logs.now()):
        return []
    value = await value_of(logs, view.own, PINS)
    try:
        ids = pinned_ids(value, view.own.session)
    except StoreCorruptError:
        if strict:
            raise
        return []
    spots = await find_places(logs, view.own, ids)
    rows = await rows_at(logs, view, list(spots.values()))
    live = [row for row in rows.values() if row.body is not None]
    return sorted(live, key=lambda row: row.place.depth)


def sum_of(view: LogView, shown: Sequence[Span | ShownOverlay], base: int) -> int:
    """Sum the tokens of what is shown at a leaf, whose running sum is `base`."""
    pieces: list[ViewPiece] = [it if isinstance(it, Span) else it.laid for it in shown]
    pinned = [row.tokens for it in shown if isinstance(it, ShownOverlay) for row in it.pinned]
    return view.tokens(pieces, base) + sum(pinned)


async def context_at(logs: AsyncLogs, view: LogView, leaf: Place | None, base: int) -> int:
    """Sum the tokens of what a session is shown at a leaf."""
    return sum_of(view, await show(logs, view, leaf), base)
