"""What a session is shown at a leaf: spans and overlays, pins, and the sum of their tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from ...errors import StoreCorruptError
from ...model import Document, Overlay
from ...rules.codec import decode_json
from ...rules.overlay import Cover, resolve_up
from ...rules.tree import Place, Span
from .lookup import (
    find_place,
    lineage_of,
    on_path,
    path_tokens,
    position,
    row_at,
    span_tokens,
)
from .state import OverlayRow, SessionRow, State

PINS = "pins"

_rank = attrgetter("rank")


class Shown(NamedTuple):
    """An overlay that is shown, and the positions of the pins shown after it."""

    overlay: OverlayRow
    pinned: list[Place]


Piece = Span | Shown


def resolve(
    state: State, session: SessionRow, leaf: Place | None, *, strict: bool = False
) -> list[Piece]:
    """Give what a session is shown at a leaf, from the leaf up to the root.

    Pins that cannot be read are an error where they would be shown and it is `strict`; otherwise
    there are none.
    """
    pieces = list(
        resolve_up(
            leaf, lambda segment: lineage_of(state, segment), lambda span: _deepest(session, span)
        )
    )
    pins = _pins(state, session, strict) if any(isinstance(p, Cover) for p in pieces) else []
    return [
        piece
        if isinstance(piece, Span)
        else Shown(session.overlays[piece.number], _pinned(state, piece, pins))
        for piece in pieces
    ]


def _deepest(session: SessionRow, span: Span) -> Cover | None:
    ends = session.ends.get(span.segment)
    if not ends:
        return None
    # A one-tuple sorts before every rank of the same depth.
    index = bisect_right(ends, (span.last + 1,), key=_rank)
    if not index or ends[index - 1].last.depth < span.first:
        return None
    return ends[index - 1].cover


def _pinned(state: State, cover: Cover, pins: Sequence[Place]) -> list[Place]:
    return [
        place
        for place in pins
        if place.depth >= cover.first.depth and on_path(state, place, cover.last)
    ]


def is_expired(document: Document, now: int) -> bool:
    """Tell whether a document is not to be found any more."""
    return document.expires_us is not None and document.expires_us <= now


def _pins(state: State, session: SessionRow, strict: bool) -> list[Place]:
    """Give the positions of the live messages that a session pins, by depth."""
    document = session.documents.get(PINS)
    if document is None or is_expired(document, state.clock()):
        return []
    try:
        ids = _pin_ids(session, document.value)
    except StoreCorruptError:
        if strict:
            raise
        return []
    places = {find_place(state, session, id) for id in ids}
    live = [place for place in places if place and row_at(state, place).body is not None]
    return sorted(live, key=lambda place: place.depth)


def _pin_ids(session: SessionRow, value: bytes) -> list[str]:
    where = f"the document {PINS!r} of session {session.id!r}"
    ids = decode_json(value, where)
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise StoreCorruptError(f"{where} is not a JSON list of message ids: put it again")
    return ids


def tokens_of(state: State, pieces: Sequence[Piece]) -> int:
    """Sum the tokens of what is shown."""
    total = 0
    for piece in pieces:
        if isinstance(piece, Span):
            total += span_tokens(state, piece)
        else:
            total += piece.overlay.tokens
            total += sum(row_at(state, place).tokens for place in piece.pinned)
    return total


def context_tokens(state: State, session: SessionRow, leaf: Place | None) -> int:
    """Sum the tokens of what a session is shown at a leaf."""
    if not session.overlays:
        return path_tokens(state, leaf)
    return tokens_of(state, resolve(state, session, leaf))


def settle_sum(state: State, session: SessionRow) -> None:
    """Work a session's sum out again."""
    session.context_tokens = context_tokens(state, session, session.tip)
    state.stale.discard(session.home)


def overlay_of(row: OverlayRow) -> Overlay:
    """Give an overlay as users see it."""
    return Overlay(
        id=row.id,
        first=position(row.first),
        last=position(row.last),
        summary=row.summary,
        tokens=row.tokens,
        covered_tokens=row.covered_tokens,
        metadata=decode_json(row.metadata, f"the metadata of overlay {row.id!r}"),
        created_by=row.created_by,
        created_us=row.created_us,
    )
